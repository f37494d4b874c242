from __future__ import annotations

import pytest

from remora.gateway.compression.formats.values import dump, parse
from remora.gateway.stash.jsonpath import PathError, find

BOOKS = parse("""{"shop": {"book": [
  {"title": "A", "price": 8.95, "tags": ["x"]}, {"title": "B", "price": 12.99},
  {"title": "C", "price": 8.950, "isbn": "1"}
], "it's": 1}, "limit": 10}""")


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$.limit", ["10"]),
        ("$.shop.book[0].title", ['"A"']),
        ("$.shop.book[-1].title", ['"C"']),
        ("$.shop.book[7]", []),
        ("$.shop.book[0:2].title", ['"A"', '"B"']),
        ("$.shop.book[::-1].title", ['"C"', '"B"', '"A"']),
        ("$.shop.book[::0]", []),
        ("$.shop.book[0,2]['title']", ['"A"', '"C"']),
        ("$..price", ["8.95", "12.99", "8.950"]),
        ("$.shop.book[*].tags[*]", ['"x"']),
        ("$.shop['it\\'s']", ["1"]),
        ("$..book[?@.price<10].title", ['"A"', '"C"']),
        ("$..book[?@.price==8.95].title", ['"A"', '"C"']),
        ("$..book[?@.price>$.limit].title", ['"B"']),
        ("$..book[?@.isbn].title", ['"C"']),
        ("$..book[?!@.isbn && (@.title=='A' || @.title=='C')].title", ['"A"']),
        ("$..book[?@.title>=1]", []),
    ],
)
def test_what_a_path_selects(path: str, found: list[str]) -> None:
    assert [dump(value) for value in find(BOOKS, path)] == found


@pytest.mark.parametrize(
    "path", ["limit", "$.", "$[", "$['a", "$.a b", "$[?]", "$[?@.a==]", "$[?(@.a]", "$[?1]", "$[1"]
)
def test_what_is_wrong_is_said_with_its_place(path: str) -> None:
    with pytest.raises(PathError, match=r" at position \d+$"):
        find(BOOKS, path)
