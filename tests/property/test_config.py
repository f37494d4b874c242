"""Random files and random edits: what we say about them is what the standard parser says."""

import tomllib

import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from remora.config.check import check
from remora.config.expand import expand
from remora.config.keys import flatten, parse_value
from remora.config.layout import drop, put
from remora.config.model import Config
from remora.config.outline import dotted, outline, split_key
from remora.errors import ConfigError

words = st.text(st.characters(codec="utf-8", exclude_characters="\x7f", exclude_categories=["Cc", "Cs"]), max_size=8)
scalars = st.booleans() | st.integers(-(2**53), 2**53) | words | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3), max_leaves=8
)
documents = st.dictionaries(words, values, max_size=5)


def places(data, above=()):
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield (*above, key)
        yield from places(value, (*above, key))


@given(documents)
def test_every_key_of_a_file_has_a_line(data):
    text = tomlkit.dumps(data)
    lines = outline(text).lines
    # A table that only holds tables need not be written by itself, but it has the line of its first child.
    assert set(places(tomllib.loads(text))) == set(lines)
    assert all(1 <= line <= text.count("\n") + 1 for line in lines.values())


@given(st.lists(words, min_size=1, max_size=4))
def test_keys_are_read_as_they_are_spelled(parts):
    assert split_key(dotted(parts)) == tuple(parts)


@given(documents)
def test_any_document_is_checked_and_leaves_a_valid_rest(data):
    config, issues = check(Config, data)
    assert isinstance(config, Config)
    assert set(data) - set(Config.model_fields) <= {issue.path[0] for issue in issues}


@given(
    st.dictionaries(
        st.sampled_from(["http", "gateway", "servers", "catalog", "log_level", "profiles"]), values, max_size=4
    )
)
def test_known_sections_with_any_content_never_break_the_check(data):
    config, issues = check(Config, data)
    assert issues or Config.model_validate(data) == config


@given(
    st.dictionaries(st.sampled_from(["a", "b.c", "d e", "→"]), st.fixed_dictionaries({"command": words}), max_size=4),
    st.sampled_from(["a", "b.c", "new"]),
    words,
)
def test_an_edit_does_what_it_says_and_can_be_taken_back(servers, name, command):
    text = "# head\nlog_level = 'info'\n\n" + tomlkit.dumps({"servers": servers}) + "\n# end\n"
    try:
        edited = put(text, ("servers", name, "command"), command)
    except ConfigError:
        raise AssertionError(text) from None
    expected = {**servers, name: {"command": command}}
    assert tomllib.loads(edited)["servers"] == expected
    assert "# head" in edited
    removed = drop(edited, ("servers", name))
    del expected[name]
    assert tomllib.loads(removed).get("servers", {}) == expected


@given(words, st.dictionaries(st.sampled_from(["A", "B"]), words))
def test_text_without_references_stays_as_it_is(text, env):
    if "${" not in text:
        assert expand(text, env) == text
    for name, value in env.items():
        assert expand(f"<${{{name}}}>", env) == f"<{value}>"


@given(st.text(max_size=20))
def test_any_text_is_a_value(text):
    assert parse_value(("servers", "x", "env", "A"), text) is not None
    parse_value(("http", "port"), text)


@given(documents)
def test_leaves_put_together_make_the_document(data):
    rebuilt: dict = {}
    for path, value in flatten(data):
        here = rebuilt
        for part in path[:-1]:
            here = here.setdefault(part, {})
        here[path[-1]] = value
    assert rebuilt == data
