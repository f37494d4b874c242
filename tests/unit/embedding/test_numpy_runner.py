import numpy as np
import pytest

from remora.embedding.bundled import MODEL, data_folder, onnx_run
from remora.embedding.numpy_runner import NumpyModel, read_tensors


def test_tensors_are_read_without_the_onnx_package():
    tensors = read_tensors((data_folder() / MODEL).read_bytes())
    assert tensors["wemb_q"].shape == (30522, 384)
    assert tensors["wemb_q"].dtype == np.int8


def test_padding_does_not_matter():
    data = (data_folder() / MODEL).read_bytes()
    ids = np.array([[101, 7592, 2088, 102, 0, 0]], np.int64)
    mask = (ids > 0).astype(np.int64)
    model, onnx = NumpyModel(data), onnx_run(data, 1)
    padded, plain = model(ids, mask), model(ids[:, :4], mask[:, :4])
    assert np.allclose(padded, plain, atol=1e-5)
    assert np.allclose(padded, onnx(ids, mask), atol=1e-3)


def test_another_file_is_refused():
    with pytest.raises((ValueError, IndexError)):
        read_tensors(b"\x0f\xff no model")
