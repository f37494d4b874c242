import json
import math
from importlib.resources import files

import numpy as np
import pytest

from remora.memory.relevance import FEATURES, BadModel, load_model, named, read_model, top_contributions

BUNDLED = (files("remora.memory") / "data" / "recall.json").read_text()


def changed(**fields):
    return json.dumps(json.loads(BUNDLED) | fields)


def test_the_bundled_model_is_good_and_only_scores():
    model, warning = load_model()
    assert warning is None
    assert model is not None
    assert not model.ranks
    assert len(BUNDLED) < 50_000


def test_probabilities_lie_between_0_and_1_whatever_the_features():
    model = read_model(BUNDLED)
    p = model.probabilities(np.array([[1e9] * len(FEATURES), [-1e9] * len(FEATURES), [0.0] * len(FEATURES)]))
    assert ((p >= 0) & (p <= 1)).all()


def test_parts_add_up_to_the_logit():
    model = read_model(BUNDLED)
    row = np.linspace(0, 1, len(FEATURES))
    total = model.contributions(row[None, :]).sum() + model.intercept
    assert model.logits(row[None, :])[0] == pytest.approx(total)
    assert [len(parts) for parts in top_contributions(model, np.vstack([row, row]))] == [3, 3]
    assert set(named(row)) == set(FEATURES)


@pytest.mark.parametrize(
    "text",
    [
        "",
        BUNDLED[: len(BUNDLED) // 2],
        changed(schema=2),
        changed(feature_version=99),
        changed(intercept=math.nan),
        changed(features=json.loads(BUNDLED)["features"][1:]),
        changed(features=[{"name": "cosine"}]),
        "[]",
    ],
)
def test_bad_models_are_refused(text):
    with pytest.raises(BadModel):
        read_model(text)


def test_a_bad_file_falls_back_to_the_bundled_model_and_says_so(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(changed(intercept=math.inf).replace("Infinity", "NaN"))
    model, warning = load_model(str(path))
    assert model is not None
    assert "mine.json" in warning
    assert "the bundled model's" in warning
