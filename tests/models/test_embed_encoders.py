"""The embedders that a file's hash chooses, with a tiny model of the same inputs."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from wellread.config import EmbeddingSettings
from wellread.errors import ModelError
from wellread.models.base import Embedder
from wellread.models.embedders import local_embedder
from wellread.models.embedders.local_embedder import Encoder
from wellread.models.embedders.open_embedder import open_embedder
from wellread.models.model_files import DIMENSIONS
from wellread.testing.embedding import EmbedderContract

PIECES = 30_522
MEAN = Encoder(name="tiny", pooling="mean")
FIRST = Encoder(name="tiny", pooling="cls")
PREFIXED = Encoder(name="tiny", pooling="mean", query="query: ", passage="passage: ")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each word piece has a state of its own, whatever stands beside it."""
    path = tmp_path_factory.mktemp("tiny") / "tiny.onnx"
    states = np.random.default_rng(3).normal(size=(PIECES, DIMENSIONS)).astype(np.float32)
    shape = ["texts", "tokens"]
    names = ("input_ids", "attention_mask", "token_type_ids")
    graph = helper.make_graph(
        [helper.make_node("Gather", ["states", "input_ids"], ["last_hidden_state"])],
        "tiny",
        [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in names],
        [
            helper.make_tensor_value_info(
                "last_hidden_state", TensorProto.FLOAT, [*shape, DIMENSIONS]
            )
        ],
        [numpy_helper.from_array(states, "states")],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(made, str(path))
    return path


def opened(monkeypatch: pytest.MonkeyPatch, path: Path, encoder: Encoder) -> Embedder:
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    monkeypatch.setattr(local_embedder, "ENCODERS", {sha256: encoder})
    return open_embedder(EmbeddingSettings(model_path=str(path)), path.parent)


class TestEncoderEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self, monkeypatch: pytest.MonkeyPatch, model: Path) -> Embedder:
        return opened(monkeypatch, model, MEAN)


def test_the_hash_of_the_file_says_which_embedder_it_is(
    monkeypatch: pytest.MonkeyPatch, model: Path
) -> None:
    sha256 = hashlib.sha256(model.read_bytes()).hexdigest()
    assert opened(monkeypatch, model, MEAN).identity == f"tiny/{sha256[:8]}/fp32/256"


def test_an_unknown_file_is_refused_with_where_the_known_ones_are_named(tmp_path: Path) -> None:
    other = tmp_path / "other.onnx"
    other.write_bytes(b"another model")
    with pytest.raises(ModelError, match=r"other\.onnx") as caught:
        open_embedder(EmbeddingSettings(model_path=str(other)), tmp_path)
    assert "docs/models.md" in str(caught.value.hint)


def test_what_the_model_was_trained_with_stands_before_a_text(
    monkeypatch: pytest.MonkeyPatch, model: Path
) -> None:
    prefixed = opened(monkeypatch, model, PREFIXED)
    plain = opened(monkeypatch, model, MEAN)
    np.testing.assert_allclose(
        prefixed.embed(["ferry"], "query"), plain.embed(["query: ferry"], "query"), atol=1e-5
    )
    np.testing.assert_allclose(
        prefixed.embed(["ferry"], "passage"), plain.embed(["passage: ferry"], "query"), atol=1e-5
    )


def test_the_vector_is_the_first_state_or_the_mean(
    monkeypatch: pytest.MonkeyPatch, model: Path
) -> None:
    first = opened(monkeypatch, model, FIRST).embed(["ferry", "harbour"], "query")
    mean = opened(monkeypatch, model, MEAN).embed(["ferry", "harbour"], "query")
    assert first[0] @ first[1] == pytest.approx(1.0, abs=1e-5)  # both begin with [CLS]
    assert mean[0] @ mean[1] < 0.99
