import os

import pytest

from remora.config.files import stamp, write_private


def test_a_file_is_private_and_replaced_as_a_whole(tmp_path):
    path = tmp_path / "new" / "file"
    write_private(path, "öne\r\n")
    first = stamp(path)
    assert path.read_bytes() == "öne\r\n".encode()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    write_private(path, "two\r\n")
    assert stamp(path) != first
    assert os.listdir(path.parent) == ["file"]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_private(path, "\ud800")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_no_file_has_no_stamp(tmp_path):
    assert stamp(tmp_path / "none") is None
