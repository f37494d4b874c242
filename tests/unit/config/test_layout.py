import tomllib

import pytest

from remora.config.layout import drop, has, put
from remora.errors import ConfigError, UsageError

TEXT = """# the file
top = 1

# about a
[servers.a]
command = "x"  # why
# touching

# apart

[servers.a.env]
A = "1"

[http]
port = 1
"""


def test_a_key_goes_to_the_end_of_its_section():
    assert put(TEXT, ("servers", "a", "prefix"), "p") == TEXT.replace("# touching\n", '# touching\nprefix = "p"\n')
    assert put(TEXT, ("log_level",), "info") == TEXT.replace("top = 1\n", 'top = 1\nlog_level = "info"\n')
    assert put(TEXT, ("http", "host"), "h") == TEXT + 'host = "h"\n'


def test_a_section_goes_behind_its_kin():
    new = '\n[servers.b]\nurl = "u"\nenv = { B = "2" }\n'
    expected = TEXT.replace('A = "1"\n', f'A = "1"\n{new}')
    assert put(TEXT, ("servers", "b"), {"url": "u", "env": {"B": "2"}}) == expected
    assert put(TEXT, ("catalog", "mode"), "full") == TEXT + '\n[catalog]\nmode = "full"\n'


def test_a_comment_above_a_header_stays_there():
    text = 'top = 1\n# about b\n[servers.b]\ncommand = "x"\n'
    assert put(text, ("schema_version",), 1) == 'top = 1\nschema_version = 1\n\n# about b\n[servers.b]\ncommand = "x"\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", '[servers.b]\nurl = "u"\n'),
        ("# only this", '# only this\n\n[servers.b]\nurl = "u"\n'),
        ("a = 1", 'a = 1\n\n[servers.b]\nurl = "u"\n'),
        ('[servers.a]\nurl = "v"\n[http]\n', '[servers.a]\nurl = "v"\n\n[servers.b]\nurl = "u"\n\n[http]\n'),
        ("a = 1\r\n", 'a = 1\r\n\r\n[servers.b]\r\nurl = "u"\r\n'),
        ('a = """\n#"""\n', 'a = """\n#"""\n\n[servers.b]\nurl = "u"\n'),
        ("servers = {}\n", 'servers = {b = {url = "u"}}\n'),
    ],
)
def test_files_of_every_form(text, expected):
    assert put(text, ("servers", "b"), {"url": "u"}) == expected


def test_replacing_keeps_the_comment_of_the_line():
    assert put(TEXT, ("servers", "a", "command"), "y") == TEXT.replace('"x"', '"y"')


def test_a_list_may_be_given_as_a_tuple():
    assert put("", ("http", "allowed_hosts"), ("a", "b")) == '[http]\nallowed_hosts = ["a", "b"]\n'


def test_names_that_need_quotes():
    text = put("", ("servers", "a.b"), {"env": {"x y": '"'}})
    assert tomllib.loads(text) == {"servers": {"a.b": {"env": {"x y": '"'}}}}


def test_dropping_a_table_takes_its_own_comments_only():
    assert drop(TEXT, ("servers", "a")) == "# the file\ntop = 1\n\n\n# apart\n\n[http]\nport = 1\n"
    assert drop(TEXT, ("servers", "a", "command")) == TEXT.replace('command = "x"  # why\n', "")
    assert drop(TEXT, ("servers", "b")) == TEXT


def test_what_cannot_be_done_right_is_refused(monkeypatch):
    monkeypatch.setattr("remora.config.layout._insert", lambda *_: "broken [")
    monkeypatch.setattr("remora.config.layout._replace", lambda *_: "other = 1")
    with pytest.raises(ConfigError, match=r'"http\.host" stands in the file in a form that only an editor can change'):
        put(TEXT, ("http", "host"), "h")
    with pytest.raises(UsageError, match=r'"top" in "top\.x" is not a table'):
        put(TEXT, ("top", "x"), 1)


def test_has():
    assert has({"a": {"b": 1}}, ("a", "b"))
    assert not has({"a": {"b": 1}}, ("a", "b", "c"))
