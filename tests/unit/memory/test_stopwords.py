from remora.memory.stopwords import FUNCTION_WORDS, STOP_WORDS
from remora.memory.words import fold


def test_words_are_stored_folded():
    for words in (*STOP_WORDS.values(), *FUNCTION_WORDS.values()):
        assert words
        assert all(fold(word) == word for word in words)


def test_question_words_carry_no_content():
    assert {"what", "when", "who"} <= STOP_WORDS["en"]
    assert {"was", "wann", "wer"} <= STOP_WORDS["de"]
