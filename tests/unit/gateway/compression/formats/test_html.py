from __future__ import annotations

from remora.gateway.compression.formats.html import to_markdown


def test_structure_becomes_markdown() -> None:
    made = to_markdown(
        "<html><head><title>T</title><script>no()</script></head><body><h2>Head</h2><p>a <b>b</b> &amp; c</p>"
        "<ul><li>one<ul><li>two</li></ul></li></ul><ol><li>x</li><li>y</li></ol><a href='/u'>link</a></body></html>"
    )
    assert "# T" in made
    assert "## Head" in made
    assert "a b & c" in made
    assert "- one\n  - two" in made
    assert "1. x\n2. y" in made
    assert "[link](/u)" in made
    assert "no()" not in made


def test_cells_stay_apart_and_code_keeps_every_character() -> None:
    made = to_markdown(
        "<table><tr><th>A</th><th>B</th></tr><tr><td>a</td><td>b</td></tr></table><pre>x  &lt; y\n\n\n\n  z</pre>"
    )
    assert "A | B\n--- | ---\na | b" in made
    assert "```\nx  < y\n" in made


def test_hidden_parts_go() -> None:
    made = to_markdown("<p>a</p><div style='display: none'>b<div>c</div></div><span hidden>d</span><!-- e --><p>f</p>")
    assert made.split() == ["a", "f"]


def test_a_page_without_readable_text_stays() -> None:
    assert to_markdown("<div hidden>" + "word " * 100 + "</div>").startswith("<div")
