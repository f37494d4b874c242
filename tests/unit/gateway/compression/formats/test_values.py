from __future__ import annotations

import pytest

from remora.gateway.compression.formats.values import Unfaithful, dump, parse


@pytest.mark.parametrize(
    "text", ["1.0", "1e5", "12345678901234567890", "-0", '"01"', '"a\\nb"', '{"a":[1.50,null,true]}', "[]"]
)
def test_literals_survive(text: str) -> None:
    assert dump(parse(text)) == text


def test_numbers_side_by_side_stay_two() -> None:
    assert dump(parse("[1,234,5]")) == "[1, 234, 5]"


@pytest.mark.parametrize("text", ['{"a":1,"a":2}', "[NaN]", "[Infinity]", '["\\ud800"]'])
def test_what_cannot_be_written_again_is_refused(text: str) -> None:
    with pytest.raises(Unfaithful):
        parse(text)
