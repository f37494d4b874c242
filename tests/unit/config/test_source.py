import pytest

from remora.config.problems import InvalidConfig
from remora.config.source import parse, read_text


def test_a_missing_file_is_none(tmp_path):
    assert read_text(tmp_path / "none") is None


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path):
    path = tmp_path / "c.toml"
    path.write_bytes(b"\xef\xbb\xbfa = 1")
    assert parse(read_text(path) or "", path) == {"a": 1}


def test_what_cannot_be_read_says_so(tmp_path):
    (tmp_path / "c.toml").write_bytes(b"a = '\xff'")
    with pytest.raises(InvalidConfig, match=r"c\.toml: is not UTF-8 text"):
        read_text(tmp_path / "c.toml")
    with pytest.raises(InvalidConfig, match="cannot be read: Is a directory"):
        read_text(tmp_path)


@pytest.mark.parametrize(("text", "line"), [("a = 1\nb = \n", 2), ("a = 1\na = 2\n", 2), ("[t]\nx = 1\ny = [1,\n", 4)])
def test_broken_toml_has_its_line(tmp_path, text, line):
    with pytest.raises(InvalidConfig) as caught:
        parse(text, tmp_path / "c.toml")
    [problem] = caught.value.problems
    assert problem.line == line
    assert str(problem).startswith(f"{tmp_path}/c.toml:{line}: not valid TOML: ")
    assert "(at " not in str(problem)
