from __future__ import annotations

from remora.gateway.wire.lines import EDGE, LineSplitter


def split(limit: int, *chunks: bytes) -> tuple[list[bytes], list[tuple[bytes, bytes]], LineSplitter]:
    lines: list[bytes] = []
    skipped: list[tuple[bytes, bytes]] = []
    splitter = LineSplitter(limit, lines.append, lambda head, tail: skipped.append((head, tail)))
    for chunk in chunks:
        splitter.feed(chunk)
    return lines, skipped, splitter


def test_lines_come_whole_whatever_the_chunks():
    assert split(99, b"one\ntw", b"o\n", b"", b"th", b"r", b"ee\nfour")[0] == [b"one", b"two", b"three"]


def test_blank_lines_are_no_messages():
    assert split(99, b"\n \r\n\na\r\n\t\n")[0] == [b"a\r"]


def test_the_end_of_input_ends_a_line():
    lines, _, splitter = split(99, b"a\nb")
    splitter.end()
    splitter.end()
    assert lines == [b"a", b"b"]


def test_the_limit_itself_is_allowed():
    lines, skipped, _ = split(5, b"12345\n123456\n12345\n")
    assert (lines, skipped) == ([b"12345", b"12345"], [(b"123456", b"123456")])


def test_of_a_line_too_long_both_edges_are_told_and_the_next_is_read():
    line = b"".join(b"%06d" % n for n in range(3 * EDGE))
    chunks = [line[at : at + 1000] for at in range(0, len(line), 1000)]
    lines, skipped, splitter = split(EDGE * 2, *chunks)
    assert splitter.overflowing
    assert skipped == []
    splitter.feed(b"\nnext\n")
    assert skipped == [(line[:EDGE], line[-EDGE:])]
    assert lines == [b"next"]
    assert not splitter.overflowing


def test_the_tail_is_right_below_a_small_limit():
    assert split(10, b"0123456789ab", b"cdef", b"ghi\n")[1][0][1] == b"0123456789abcdefghi"
