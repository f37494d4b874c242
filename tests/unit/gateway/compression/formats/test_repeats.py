from __future__ import annotations

from remora.gateway.compression.formats import repeats

FRAME = "  File main.py, line 3, in run\n    return call(value)\n  File call.py, line 9, in call"


def test_blocks_that_return_are_named() -> None:
    text = f"one\n{FRAME}\ntwo\n{FRAME}\nthree\n{FRAME}\nend"
    made = repeats.encode(text)
    assert made.count("call.py") == 1
    assert len(made.split("\n")) < len(text.split("\n")) + 1
    assert repeats.decode(made) == text


def test_blocks_that_overlap_are_cut_at_their_borders() -> None:
    a, b, c = (f"{name} line of more than thirty characters" for name in "abc")
    text = "\n".join([a, b, c, "x", b, c, "y", a, b, "z", a, b, c])
    assert repeats.decode(repeats.encode(text)) == text


def test_a_text_that_holds_the_marks_uses_others() -> None:
    text = f"#=1\n{FRAME}\n#}}\n{FRAME}\n{'=' * 40} end {'=' * 40}"
    made = repeats.encode(text)
    assert made.startswith("# rem-repeats: @")
    assert repeats.decode(made) == text
