import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.memory.words import (
    BODY,
    KEY,
    LONGEST_WORD,
    chunks,
    fold,
    gram_text,
    index_row,
    is_identifier,
    language,
    normalise,
    prepare,
    read_terms,
    term_id,
)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("max_retries", ["max", "retri", "max_retries"]),
        ("getUserName", ["get", "user", "name", "getusername", "getusernam"]),
        ("ERR-404", ["err", "404", "err-404"]),
        ("YouTube", ["you", "tube", "youtube", "youtub"]),
        ("东京塔", ["东京", "京塔"]),
        ("서버", ["서버"]),
        ("don't", ["don", "t"]),
        ("ﬁle \u200bname", ["file", "name"]),
        ("_", []),
    ],
)
def test_prepare(text, tokens):
    assert prepare(text) == tokens


def test_a_path_gives_its_ends_and_is_found_without_its_line_number():
    tokens = prepare("src/app/main.py:12")
    assert {"main.py", "app/main.py", "src/app/main.py", "src/app/main.py:12"} <= set(tokens)


def test_stems_follow_the_language():
    assert prepare("Datenbänke", "de") == prepare("Datenbank", "de")
    assert prepare("settings", "en") == prepare("setting", "en")
    assert prepare("settings", "zh") == ["settings"]


def test_words_with_digits_are_not_stemmed():
    assert "v2s" in prepare("v2s")


@given(st.text(max_size=60))
def test_every_letter_and_digit_lies_in_a_token(text):
    joined = "".join(prepare(text, "zh"))  # a language without stemmer
    for char in normalise(text):
        if char.isalnum():
            assert any(part in joined for part in fold(char)), (char, unicodedata.name(char, "?"))


@given(st.text(max_size=200))
def test_tokens_are_folded_and_short(text):
    for token in prepare(text, "zh"):
        assert token == token.casefold() or not token.isascii()
        assert " " not in token
        assert len(token) <= LONGEST_WORD


@pytest.mark.parametrize(
    "text", ["a" * 300_000, "e" + "\u0301" * 10_000, "a-" * 100_000, "aB1/" * 50_000, "漢" * 200_000]
)
def test_hostile_texts_give_a_bounded_number_of_tokens(text):
    assert len(prepare(text)) <= len(text)


@pytest.mark.parametrize("word", ["ERR-404", "max_retries", "getUserName", "src/a/b.py", "user@host.com", "QX-104432"])
def test_identifiers(word):
    assert [chunk for chunk in chunks(word) if is_identifier(chunk)] == [word]


@pytest.mark.parametrize("word", ["self-care", "and/or", "20th", "500ms", "1990s", "Caroline", "v2", "数据库2024"])
def test_no_identifiers(word):
    assert not any(is_identifier(chunk) for chunk in chunks(word))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Die Datenbank läuft auf dem neuen Server und ist nicht erreichbar", "de"),
        ("The database runs on the new server and is not reachable", "en"),
        ("La base de données est sur le nouveau serveur et ne répond pas", "fr"),
        ("데이터베이스 백업은 매일 새벽 세 시에 실행된다", "ko"),
        ("数据库每天凌晨三点备份，备份文件保留三十天", "zh"),
        ("データベースは毎晩バックアップされます", "ja"),
        ("ok", "en"),
        ("def main(args): return parse(args, strict=True, limit=10, quiet=False)", "en"),
    ],
)
def test_language(text, expected):
    assert language(text) == expected


def test_index_row_keeps_counts_by_column():
    row = index_row("retry the retry", key="net.retry")
    entries, owners = read_terms([row.tf])
    found = {(int(e["column"]), int(e["count"])) for e in entries if e["term"] == term_id("retri")}
    assert found == {(BODY, 2), (KEY, 1)}
    assert row.length == len(" ".join(row.texts).split())
    assert np.array_equal(owners, np.zeros(len(entries)))


def test_gram_text_folds_width_and_case():
    assert gram_text("ＡＢＣ Straße") == "abc strasse"
