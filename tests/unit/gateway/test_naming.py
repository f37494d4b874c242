from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.gateway.naming import COMPOSED_LIMIT, Names


def names(*taken: str, clients: tuple[str, ...] = ("rem",)) -> Names:
    return Names(clients, taken)


def test_a_name_begins_with_its_servers_prefix():
    assert names().serve("git-server", "git", "log") == "git__log"


@pytest.mark.parametrize("clients", [("rem",), ("rem", "plugin_rem_rem")])
def test_what_fits_the_longest_client_stays_as_it_is(clients):
    room = 64 - len(f"mcp__{max(clients, key=len)}__git__")
    made = names(clients=clients)
    assert made.serve("git", "git", "x" * room) == f"git__{'x' * room}"
    short = made.serve("git", "git", "y" * (room + 1))
    assert len(short) == len("git__") + room
    assert re.fullmatch(rf"git__y{{{room - 7}}}_[a-z2-7]{{6}}", short)


def test_characters_no_client_takes_are_replaced():
    assert re.fullmatch(r"up__dotted_name__[a-z2-7]{6}", names().serve("up", "up", "dotted.name/"))


def test_two_that_become_the_same_differ_by_what_they_are():
    first, second = names(), names()
    assert first.serve("up", "up", "a.b") != first.serve("up", "up", "a/b")
    assert second.serve("up", "up", "a/b") == names().serve("up", "up", "a/b")
    assert names().serve("one", "up", "a.b") != names().serve("two", "up", "a.b")


def test_short_names_are_the_same_after_every_restart():
    assert names().serve("git", "git", "status.short") == "git__status_short_c4n54a"


def test_a_collision_takes_more_digits():
    short = names().serve("up", "up", "a.b")
    longer = names(short).serve("up", "up", "a.b")
    assert longer.startswith(short)
    assert len(longer) == len(short) + 4


def test_a_prefix_that_ends_in_an_underscore_takes_no_name():
    made = names()
    assert made.serve("one", "a", "_x") == "a___x"
    assert re.fullmatch(r"a___x_[a-z2-7]{6}", made.serve("two", "a_", "x"))


def test_a_bare_name_needs_no_prefix_unless_it_is_taken_or_unfit():
    made = names("remora")
    assert [made.serve("up", "up", name, bare=True) for name in ("log", "remora", "log")] == [
        "log", "up__remora", "up__log"
    ]  # fmt: skip
    assert made.serve("up", "up", "a.b", bare=True).startswith("up__a_b_")
    assert made.serve("up", "up", "x" * 60, bare=True).startswith("up__x")


words = st.text("ab_-.é/ ", min_size=1, max_size=70) | st.integers(20, 64).map("x".__mul__)
tools = st.tuples(st.sampled_from(["a", "a_", "A", "b-" * 12]), words, st.booleans())


@given(st.lists(tools, max_size=25), st.sampled_from(["rem", "plugin_rem_rem"]))
def test_every_name_is_short_valid_and_its_own(served, client):
    made, found = names("remora", clients=("rem", client)), []
    for prefix, original, bare in dict.fromkeys(served):
        found.append(made.serve(f"server {prefix}", prefix, original, bare=bare))
    assert all(len(f"mcp__{client}__{name}") <= COMPOSED_LIMIT for name in found)
    assert all(re.fullmatch("[A-Za-z0-9_-]+", name) for name in found)
    assert len({*found, "remora"}) == len(found) + 1
