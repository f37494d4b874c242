from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from remora.embedding.chunks import CHUNK_TOKENS, OVERLAP_TOKENS, TURN_TOKENS, chunks, estimate_tokens


def test_a_short_text_is_one_chunk():
    (chunk,) = chunks("Hello there.")
    assert (chunk.no, chunk.start, chunk.end, chunk.text) == (0, 0, 12, "Hello there.")


def test_a_turn_may_be_longer():
    text = "word " * 200
    assert len(chunks(text)) > 1
    assert len(chunks(text, turn=True)) == 1
    assert len(chunks("word " * 300, turn=True)) > 1


def test_cut_at_lines_with_the_last_line_repeated():
    lines = [f"Line {number} says something short about it." for number in range(60)]
    found = chunks("\n".join(lines))
    assert len(found) > 2
    for before, after in pairwise(found):
        assert after.text.split("\n")[0] == before.text.split("\n")[-1]


def test_the_prefix_stands_before_each_piece_and_has_its_own_hash():
    plain, prefixed = chunks("word " * 300), chunks("word " * 300, "db.port")
    assert all(chunk.text.startswith("db.port\n") for chunk in prefixed)
    assert plain[0].hash != prefixed[0].hash


@given(st.text(alphabet="ab .\n漢5", max_size=3000), st.booleans())
def test_everything_is_covered_and_nothing_is_too_long(text, turn):
    found = chunks(text, turn=turn)
    limit = TURN_TOKENS if turn else CHUNK_TOKENS
    covered = set()
    for chunk in found:
        assert estimate_tokens(chunk.text) <= limit
        covered |= set(range(chunk.start, chunk.end))
    assert all(at in covered for at, char in enumerate(text) if not char.isspace())
    overlaps = (estimate_tokens(text[after.start : before.end]) for before, after in pairwise(found))
    assert all(size <= OVERLAP_TOKENS for size in overlaps)


def test_no_blanks_at_all():
    assert len(chunks("a" * 100_000)) < 200
