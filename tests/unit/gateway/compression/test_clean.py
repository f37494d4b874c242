from __future__ import annotations

from remora.gateway.compression.clean import Switches, clean, collapse_links, deduplicate, drop_blobs, strip_terminal
from remora.gateway.compression.detect import Hints


def test_colours_and_redraws_go() -> None:
    assert strip_terminal("\x1b[31mred\x1b[0m\r\n10%\r50%\r100%\nend") == "red\n100%\nend"


def test_long_paragraphs_are_said_once() -> None:
    block = "the same words again " * 12
    made = deduplicate(f"# T\n\n{block}\n\nother\n\n{block}")
    assert made.endswith("[same as paragraph 2]")
    assert deduplicate(f"```\n{block}\n\n{block}\n```").count("the same words") == 24


def test_link_floods_keep_their_first_two() -> None:
    made = collapse_links("\n".join(f"- [page {i}](/p/{i})" for i in range(30)) + "\nend")
    assert made.split("\n") == ["- [page 0](/p/0)", "- [page 1](/p/1)", "[28 links omitted]", "end"]


def test_blobs_are_named() -> None:
    assert drop_blobs("a data:image/png;base64," + "A" * 4000 + " b") == "a [base64 image/png 3000 bytes omitted] b"


def test_data_code_and_files_stay_as_they_are() -> None:
    noisy = "a  \r\n\r\n\r\n\r\n\r\nb \x1b[31m"
    for kind in ("json", "csv", "diff", "python", "code", "yaml", "xml", "table", "listing"):
        assert clean(noisy, kind).text == noisy
    assert clean(noisy, "markdown", Hints(verbatim=True)).text == noisy


def test_steps_can_be_switched_off_and_small_savings_are_not_made() -> None:
    page = "<html><body><p>word word word</p></body></html>"
    assert clean(page, "html").lossy
    assert clean(page, "html", switches=Switches(strip_html=False)).text == page
    assert clean("word " * 100 + " \n", "markdown").text == "word " * 100 + " \n"
