import numpy as np
import pytest
from tests.unit.embedding.fake_model import FakeModel

from remora.embedding.embedder import Embedder, open_embedder
from remora.embedding.local import LocalProvider
from remora.embedding.protocol import EmbeddingUnavailable, Identity
from remora.embedding.registry import CANARIES, place, plan_move, prefixes_of, settle

ONE = Identity("openai", "m", "r", 2)
EAST = np.array([[1.0, 0.0]] * 8, np.float32)
NORTH = np.array([[0.0, 1.0]] * 8, np.float32)


def test_prefixes():
    assert prefixes_of("intfloat/multilingual-e5-small") == ("query: ", "passage: ")
    assert prefixes_of("all-minilm") == ("", "")


def test_a_model_that_changes_under_its_name_gets_a_new_space_and_finds_it_again():
    first = place(ONE, EAST, [])
    assert first.new
    assert not first.drifted
    assert place(ONE, EAST, [first.space]).space == first.space
    second = place(ONE, NORTH, [first.space])
    assert second.new
    assert second.drifted
    assert second.space.id != first.space.id
    again = place(ONE, NORTH, [first.space, second.space])
    assert again.space == second.space
    assert not again.new


async def test_settle_embeds_the_canaries_and_moves_the_embedder():
    class Drifting(FakeModel):
        def run(self, token_lists):
            return super().run(token_lists)[:, ::-1] / 1000

    old = Embedder(LocalProvider(FakeModel()))
    first = await settle(old, [])
    new = Embedder(LocalProvider(Drifting()))
    second = await settle(new, [first.space])
    assert second.drifted
    assert new.space.id == second.space.id
    assert len(CANARIES) == 8
    await old.close()
    await new.close()


async def test_settle_without_a_model():
    with pytest.raises(EmbeddingUnavailable):
        await settle(open_embedder("none"), [])


@pytest.mark.parametrize(
    ("active", "wanted", "covered", "answer", "switch", "drop"),
    [
        (None, None, {}, None, False, ()),
        (None, "a", {"a": (0, 9)}, "a", True, ()),
        ("a", "a", {"a": (5, 9)}, "a", False, ()),
        ("a", "b", {"a": (9, 9), "b": (8, 9)}, "a", False, ()),
        ("a", "b", {"a": (9, 9), "b": (9, 9)}, "b", True, ("a",)),
        ("a", None, {"a": (9, 9)}, None, False, ()),
        ("a", "a", {"a": (9, 9), "old": (3, 9)}, "a", False, ("old",)),
    ],
)
def test_a_move(active, wanted, covered, answer, switch, drop):
    move = plan_move(active, wanted, covered)
    assert (move.answer, move.switch, move.drop) == (answer, switch, drop)


def test_both_spaces_are_filled_during_a_move():
    assert plan_move("a", "b", {"a": (9, 9), "b": (1, 9)}).fill == ("a", "b")
    assert plan_move("a", "b", {"a": (9, 9), "b": (9, 9)}, keep_old=True).drop == ()
