import pytest

from remora.config.outline import dotted, outline, split_key
from remora.errors import UsageError

TEXT = '''# comment with [a.table] in it
top = 1
"quoted key" = 2 # [no.table]
a.b . "c.d" = 'x'

[servers.git]
args = [
  "one", # first
  [ "two", { three = 3, four.five = 4 } ],
  """
[not.a.table]
key = 1 \\""" still
""",
]
env = { A = "}", 'B' = "#" }
date = 1979-05-27 07:32:00
last = true
[ servers . "a.b" ]
url = \'\'\'
]]]
\'\'\'
after = 1
[[many]]
x = 1
[many.deep]
y = 2
[[many]]
x = 3
'''


def test_lines_of_keys():
    lines = outline(TEXT).lines
    assert lines[("top",)] == 2
    assert lines[("quoted key",)] == 3
    assert lines[("a", "b", "c.d")] == 4
    assert lines[("servers", "git")] == 6
    assert lines[("servers", "git", "args", 0)] == 8
    assert lines[("servers", "git", "args", 1, 1, "three")] == 9
    assert lines[("servers", "git", "args", 1, 1, "four", "five")] == 9
    assert lines[("servers", "git", "args", 2)] == 10
    assert lines[("servers", "git", "env", "B")] == 15
    assert lines[("servers", "git", "last")] == 17
    assert lines[("servers", "a.b")] == 18
    assert lines[("servers", "a.b", "after")] == 22
    assert lines[("many", 0, "deep", "y")] == 26
    assert lines[("many", 1, "x")] == 28


def test_headers_are_real_tables_only():
    assert [(header.line, header.path) for header in outline(TEXT).headers] == [
        (6, ("servers", "git")),
        (18, ("servers", "a.b")),
        (23, ("many", 0)),
        (25, ("many", 0, "deep")),
        (27, ("many", 1)),
    ]


def test_a_missing_key_is_looked_for_in_the_table_around_it():
    found = outline(TEXT)
    assert found.line(("servers", "git", "command")) == 6
    assert found.line(("servers", "git", "args", 9)) == 7
    assert found.line(("nothing",)) is None


def test_windows_line_ends():
    found = outline("a = 1\r\n[t]\r\nb = '''\r\nx'''\r\nc = 2\r\n")
    assert found.lines == {("a",): 1, ("t",): 2, ("t", "b"): 3, ("t", "c"): 5}


@pytest.mark.parametrize("path", [("a",), ("a", "b-c_1"), ("servers", "a.b", "env"), ("x", ""), ('"', "→")])
def test_a_key_is_spelled_and_read_back(path):
    assert split_key(dotted(path)) == path


def test_list_positions():
    assert dotted(("a", "list", 1, "x")) == "a.list[1].x"


@pytest.mark.parametrize("text", ["", "a.", ".a", "a b", "a = 1", "a\nb", '"open', "a..b", "a[0]"])
def test_what_is_no_key(text):
    with pytest.raises(UsageError, match="is not a key"):
        split_key(text)
