from __future__ import annotations

from remora.gateway.compression.unusual import chunks, read, shape

PLAIN = [f"request {i} took {10 + i % 3} ms" for i in range(40)]


def test_words_of_trouble_stand_out() -> None:
    found = read([*PLAIN, "connection refused", "a warning"])
    assert found.trouble[40] == max(found.trouble) > 0
    assert found.suspect[41] == max(found.suspect) > 0
    assert not found.trouble[:40].any()
    assert found.rare[40] > found.rare[0]


def test_trouble_that_is_everywhere_says_less() -> None:
    assert read(["error here"] * 10).trouble[0] < read(["error here", *PLAIN]).trouble[0]


def test_names_are_taken_apart() -> None:
    found = chunks().of("ConnectionRefusedError")
    assert "connectionrefusederror" in found.low
    assert found.trouble


def test_odd_shapes_first_ones_and_copies() -> None:
    found = shape([*PLAIN, "something else entirely", PLAIN[0]])
    assert found.odd[40] > found.odd[0]
    assert (found.first[0], found.first[1]) == (1.0, 0.5)
    assert (found.repeat[0], found.repeat[41]) == (1.0, 0.5)


def test_a_number_far_from_the_others_is_an_outlier() -> None:
    lines = [f"took {10 + i * 7 % 3} ms" for i in range(40)]
    lines[20] = "took 9000 ms"
    found = shape(lines).outlier
    assert found[20] == 1
    assert found.sum() == 1
    assert not shape([f"line {i}" for i in range(40)]).outlier.any()
