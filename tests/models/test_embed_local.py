"""The built-in model and its static form, with the real weights."""

from __future__ import annotations

import logging
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from wellread.errors import ModelError
from wellread.models.base import Embedder
from wellread.models.embedders.local_embedder import LocalEmbedder
from wellread.models.embedders.static_embedder import StaticEmbedder
from wellread.models.model_files import SHA256
from wellread.testing.embedding import EmbedderContract

SMALL_VOCABULARY = 8_000


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def local(home: Path) -> LocalEmbedder:
    return LocalEmbedder(home)


@pytest.fixture(scope="module")
def static(home: Path) -> StaticEmbedder:
    return StaticEmbedder(home, vocabulary=SMALL_VOCABULARY)


class TestLocalEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self, local: LocalEmbedder) -> Embedder:
        return local


class TestStaticEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self, static: StaticEmbedder) -> Embedder:
        return static


def test_identity_names_what_shapes_a_vector(local: LocalEmbedder, static: StaticEmbedder) -> None:
    assert local.identity == "all-MiniLM-L6-v2/8199be6f/fp32-fused/256"
    assert static.identity == f"all-MiniLM-L6-v2-static/8199be6f/{SMALL_VOCABULARY}/256/r1"


def test_meaning_counts_more_than_words(local: LocalEmbedder) -> None:
    vectors = local.embed(
        ["How do I repair a bike?", "Fixing a bicycle", "How do I bake a cake?"], "query"
    )
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]


def test_only_the_first_256_pieces_count(local: LocalEmbedder) -> None:
    start = "ferry " * 254
    same = local.embed([start, f"{start} bread"], "passage")
    assert np.array_equal(same[0], same[1])
    shorter = local.embed([start[: -len("ferry ")] + "bread"], "passage")
    assert shorter[0] @ same[0] < 0.99999


def test_threads_get_the_right_vectors(local: LocalEmbedder) -> None:
    texts = [f"Ferry number {n} leaves at {n} o'clock." for n in range(24)]
    with ThreadPoolExecutor(4) as pool:
        found = np.concatenate(list(pool.map(lambda text: local.embed([text], "query"), texts)))
    np.testing.assert_allclose(found, local.embed(texts, "passage"), atol=1e-4)


def test_what_was_built_is_not_built_again(
    local: LocalEmbedder, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="wellread.models"):
        again = LocalEmbedder(home, threads=1)
    assert "building" not in caplog.text
    np.testing.assert_allclose(
        again.embed(["ferry"], "query"), local.embed(["ferry"], "query"), atol=1e-5
    )


def test_a_damaged_graph_is_built_again(
    tmp_path: Path, local: LocalEmbedder, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (built,) = (home / "models").glob("all-MiniLM-L6-v2.*.onnx")
    data = built.read_bytes()
    models = tmp_path / "models"
    models.mkdir()
    (models / built.name).write_bytes(data[: len(data) // 2])
    (models / built.with_suffix(".part").name).write_bytes(data[:1000])
    again = LocalEmbedder(tmp_path)
    assert "damaged" in caplog.text
    assert (models / built.name).read_bytes() == data
    np.testing.assert_allclose(
        again.embed(["ferry"], "query"), local.embed(["ferry"], "query"), atol=1e-5
    )


def test_the_wrong_file_is_refused(tmp_path: Path) -> None:
    wrong = tmp_path / "other.onnx"
    wrong.write_bytes(b"not the model")
    with pytest.raises(ModelError) as caught:
        LocalEmbedder(tmp_path, model_path=str(wrong))
    assert str(wrong) in str(caught.value)
    assert SHA256 in str(caught.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"nowhere\.onnx does not exist.*model_path"):
        LocalEmbedder(tmp_path, model_path=str(tmp_path / "nowhere.onnx"))


def test_a_home_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file where the folder should be")
    with pytest.raises(ModelError, match="cannot be written"):
        LocalEmbedder(tmp_path)


def test_two_processes_that_start_at_once_share_one_graph(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; "
        "from wellread.models.embedders.local_embedder import LocalEmbedder; "
        "v = LocalEmbedder(Path(sys.argv[1])).embed(['ferry'], 'query'); print(v.shape)"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in running:
        output, errors = process.communicate(timeout=120)
        assert (process.returncode, output.strip(), errors) == (0, "(1, 384)", "")
    assert len(list((tmp_path / "models").glob("*.onnx"))) == 1
    assert not list((tmp_path / "models").glob("*.part"))


def test_choosing_http_imports_no_model_runtime(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from wellread.config import EmbeddingSettings; "
        "from wellread.models.embedders.open_embedder import open_embedder; "
        "open_embedder(EmbeddingSettings(backend='http', url='http://localhost/v1', model='m'), "
        "Path(sys.argv[1])); "
        "sys.exit('onnxruntime' in sys.modules or 'onnx' in sys.modules)"
    )
    assert (
        subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False).returncode == 0
    )
