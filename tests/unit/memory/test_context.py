from remora.memory.context import chunk_context, date_words, speaker_of, turn_context

MAY_8 = 1_683_554_160_000_000


def test_date_words_in_both_languages():
    assert date_words(MAY_8) == "monday may 8 2023"
    assert date_words(MAY_8, "de") == "monday may montag mai 8 2023"


def test_a_turn_holds_the_two_turns_before_it():
    found = turn_context(["one", "two", "three " * 300], speaker="Ana", when=MAY_8, title="Trip", tags=["x"])
    assert found.split()[:2] == ["two", "three"]
    assert found.split().count("three") == 256
    assert "one" not in found.split()
    assert {"Ana", "Trip", "x", "may"} <= set(found.split())


def test_speaker():
    assert speaker_of("Ana", {"speaker": "Bo"}, "Cy: hi") == "Ana"
    assert speaker_of(None, {"speaker": "Bo"}, "Cy: hi") == "Bo"
    assert speaker_of(None, {}, "Cy Dee: hi") == "Cy Dee"
    assert speaker_of(None, {}, "one two three four: hi") is None
    assert speaker_of(None, {}, "https://example.org") is None


def test_a_chunk_holds_its_headings_and_the_words_before_it():
    found = chunk_context("Guide / Install", "guide.md", "word " * 100)
    assert found.startswith("Guide / Install\nguide.md\nword")
    assert found.split().count("word") == 40
