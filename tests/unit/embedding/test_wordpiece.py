import pytest

from remora.embedding.bundled import data_folder
from remora.embedding.wordpiece import WordPiece


@pytest.fixture(scope="module")
def tokenizer():
    return WordPiece((data_folder() / "vocab.txt").read_text(encoding="utf-8"))


def words(tokenizer, text, limit=256):
    names = {number: token for token, number in tokenizer.ids.items()}
    return [names[number] for number in tokenizer.encode(text, limit)]


def test_pieces(tokenizer):
    assert words(tokenizer, "Embeddings, café!") == ["[CLS]", "em", "##bed", "##ding", "##s", ",", "cafe", "!", "[SEP]"]


def test_the_name_of_a_special_token_is_text(tokenizer):
    assert words(tokenizer, "[SEP]") == ["[CLS]", "[", "sep", "]", "[SEP]"]


def test_chinese_is_split_by_character(tokenizer):
    assert words(tokenizer, "日本") == ["[CLS]", "日", "本", "[SEP]"]


def test_cut_to_the_limit(tokenizer):
    ids = tokenizer.encode("word " * 1000, 16)
    assert len(ids) == 16
    assert ids[-1] == tokenizer.sep


@pytest.mark.parametrize("text", ["", " \n", "\ud800", "x" * 500, "\u0301" * 50])
def test_odd_texts(tokenizer, text):
    ids = tokenizer.encode(text, 256)
    assert (ids[0], ids[-1]) == (tokenizer.cls, tokenizer.sep)


def test_agrees_with_the_reference_tokenizer(tokenizer):
    from tokenizers import BertWordPieceTokenizer

    reference = BertWordPieceTokenizer(str(data_folder() / "vocab.txt"), lowercase=True)
    for text in (
        "Hello, World! naïve café",
        "def get_user(id: int) -> User:",
        "Die Größe läuft über",
        "サーバー 5433 😀",
    ):
        assert tokenizer.encode(text, 256) == reference.encode(text).ids, text
