import json
import shutil

import pytest

from remora.embedding.bundled import MODEL, BundledModel, data_folder
from remora.embedding.local import LocalProvider
from remora.embedding.onnx_folder import OnnxFolder
from remora.errors import ConfigError


@pytest.fixture
def folder(tmp_path):
    from tokenizers import BertWordPieceTokenizer

    path = tmp_path / "multilingual-e5-test"
    path.mkdir()
    shutil.copy(str(data_folder() / MODEL), path / "model.onnx")
    BertWordPieceTokenizer(str(data_folder() / "vocab.txt")).save(str(path / "tokenizer.json"))
    (path / "config.json").write_text(json.dumps({"hidden_size": 384, "max_position_embeddings": 512}))
    return path


async def test_same_model_same_vectors(folder):
    ours, theirs = LocalProvider(BundledModel()), LocalProvider(OnnxFolder(folder, "", ""))
    text = ["Some text that both read."]
    assert (await ours.embed(text, "query") * await theirs.embed(text, "query")).sum() > 0.9999
    await ours.close()
    await theirs.close()


async def test_the_prefixes_of_a_known_model(folder):
    provider = LocalProvider(OnnxFolder(folder))
    assert provider.identity.query_prefix == "query: "
    query, document = await provider.embed(["x"], "query"), await provider.embed(["x"], "document")
    assert (query * document).sum() < 0.9999
    await provider.close()


def test_an_incomplete_folder(folder):
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ConfigError):
        OnnxFolder(folder)
