"""The local cross-encoder with a tiny model and tokenizer that are made here."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper
from tests.doubles.readers import opened, relevance
from tokenizers import Regex, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Split
from tokenizers.processors import TemplateProcessing

from wellread.errors import ModelError, ModelTimeoutError, SettingsError
from wellread.models.reader import Ranking
from wellread.models.readers import onnx_reader
from wellread.models.readers.onnx_reader import OnnxRanking
from wellread.testing.reader_contract import ReaderContract

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
WORDS = "ferry harbour leave leaves bread dough rise rises interest rates raised spam".split()
VOCABULARY = [*SPECIAL, *WORDS]


def write_tokenizer(folder: Path, *, max_length: object = None) -> None:
    tokenizer = Tokenizer(
        WordLevel({word: at for at, word in enumerate(VOCABULARY)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = Lowercase()
    tokenizer.pre_tokenizer = Split(Regex(r"\W"), "removed")
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.add_special_tokens(SPECIAL)
    # As published: cut and padded to a fixed length, which is not wanted here.
    tokenizer.enable_padding(length=40, pad_id=0, pad_token="[PAD]")
    tokenizer.enable_truncation(8)
    tokenizer.save(str(folder / "tokenizer.json"))
    if max_length is not None:
        config = json.dumps({"model_max_length": max_length})
        (folder / "tokenizer_config.json").write_text(config)


def graph_of(
    *,
    inputs: Sequence[str] = ("input_ids", "attention_mask", "token_type_ids"),
    kind: int = TensorProto.INT64,
    factors: Sequence[float] = (1.0,),
    output: int = TensorProto.FLOAT,
) -> bytes:
    """A model whose score is the number of pairs of equal words, one in each segment.

    ``factors`` are the columns of the output: the score times each of them.
    """
    nodes: list[NodeProto] = []

    def node(operator: str, given: Sequence[str], name: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(operator, list(given), [name], **attributes))
        return name

    def cast(name: str, to: int = TensorProto.FLOAT) -> str:
        return node("Cast", [name], f"{name}_cast_{to}", to=to)

    # With a mask, padding that it does not hide counts, so that a wrong mask shows.
    silent = SPECIAL[1:] if "attention_mask" in inputs else SPECIAL
    known = np.array([word not in silent for word in VOCABULARY], dtype=np.float32)
    constants: dict[str, NDArray[Any]] = {
        "depth": np.array(len(VOCABULARY), dtype=np.int64),
        "values": np.array([0, 1], dtype=np.float32),
        "known": known,
        "last": np.array([2], dtype=np.int64),
        "tokens": np.array([1], dtype=np.int64),
        "one": np.array(1, dtype=np.float32),
        "factors": np.array([factors], dtype=np.float32),
    }
    hot = node("OneHot", [cast("input_ids", TensorProto.INT64), "depth", "values"], "hot", axis=-1)
    mask = cast("attention_mask") if "attention_mask" in inputs else "one"
    # Without segments every word meets itself.
    side = cast("token_type_ids") if "token_type_ids" in inputs else "one"
    other = node("Sub", ["one", side], "other") if side != "one" else "one"

    def counts(segment: str, name: str) -> str:
        weight = node("Mul", [mask, segment], f"{name}_weight")
        if weight and (mask, segment) != ("one", "one"):
            weight = node("Unsqueeze", [weight, "last"], f"{name}_column")
        weighted = node("Mul", [hot, weight], f"{name}_hot")
        summed = node("ReduceSum", [weighted, "tokens"], f"{name}_sum", keepdims=0)
        return node("Mul", [summed, "known"], name)

    product = node("Mul", [counts(other, "query"), counts(side, "text")], "product")
    score = node("ReduceSum", [product, "tokens"], "score", keepdims=1)
    node("Mul", [score, "factors"], "wide")
    node("Cast", ["wide"], "logits", to=output)
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, kind, ["texts", "width"]) for name in inputs],
        [helper.make_tensor_value_info("logits", output, ["texts", len(factors)])],
        [numpy_helper.from_array(values, name) for name, values in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


def write_model(folder: Path, data: bytes, *, name: str = "model.onnx") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = write_model(tmp_path / "tiny-encoder", graph_of())
    write_tokenizer(made)
    return made


class TestOnnxRanking(ReaderContract):
    @pytest.fixture
    def reader(self, folder: Path) -> Ranking:
        return OnnxRanking(str(folder), threads=1)


def test_query_and_text_are_read_together(folder: Path) -> None:
    reranker = OnnxRanking(str(folder), threads=1)
    texts = ["ferry", "Ferry, ferry harbour", "bread", "nothing known here", ""]
    assert relevance(reranker, "ferry harbour", texts).tolist() == [1.0, 3.0, 0.0, 0.0, 0.0]
    assert relevance(reranker, "bread bread", texts).tolist() == [0.0, 0.0, 2.0, 0.0, 0.0]


def test_special_tokens_in_a_text_are_text(folder: Path) -> None:
    """Otherwise a passage could end itself, or look like padding to the model."""
    reranker = OnnxRanking(str(folder), threads=1)
    plain = reranker._encoded([("ferry", "x SEP ferry PAD CLS")])
    forged = reranker._encoded([("ferry", "x [SEP] ferry [PAD] [CLS]")])
    assert forged[0].ids == plain[0].ids
    assert forged[0].ids.count(3) == 2


def test_published_padding_and_truncation_do_not_count(folder: Path) -> None:
    reranker = OnnxRanking(str(folder), threads=1)
    (pair,) = reranker._encoded([("ferry", "bread " * 20)])
    assert len(pair.ids) == 24
    assert 0 not in pair.ids


def test_long_texts_are_cut_and_the_query_is_kept(folder: Path) -> None:
    reranker = OnnxRanking(str(folder), threads=1)
    # [CLS] ferry [SEP] … [SEP]: 508 of 512 are left for the text.
    inside, outside = "spam " * 507 + "ferry", "spam " * 508 + "ferry"
    assert relevance(reranker, "ferry", [inside, outside]).tolist() == [1.0, 0.0]
    # A long query leaves room for the text: half each.
    assert relevance(reranker, "ferry " * 2_000, ["ferry " * 2_000])[0] > 250 * 250


@pytest.mark.parametrize(
    ("told", "limit"), [(20, 20), (512, 512), (8192, 512), (1e30, 512), ("many", 512), (3, 512)]
)
def test_the_tokenizers_own_limit_counts(tmp_path: Path, told: object, limit: int) -> None:
    folder = write_model(tmp_path / "tiny", graph_of())
    write_tokenizer(folder, max_length=told)
    reranker = OnnxRanking(str(folder), threads=1)
    assert reranker.identity.endswith(f"/{limit}")
    room = limit - 4
    texts = ["spam " * (room - 1) + "ferry", "spam " * room + "ferry"]
    assert relevance(reranker, "ferry", texts).tolist() == [1.0, 0.0]


def test_identity_names_folder_file_and_limit(folder: Path) -> None:
    first = OnnxRanking(str(folder)).identity
    assert first.startswith("local:tiny-encoder/")
    assert first.endswith("/512")
    assert OnnxRanking(str(folder / "model.onnx")).identity == first
    write_model(folder, graph_of(factors=[2.0]))
    assert OnnxRanking(str(folder)).identity != first


def test_the_layout_of_exporters(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "exported", graph_of(), name="onnx/model.onnx")
    write_tokenizer(folder)
    for path in (folder, folder / "onnx" / "model.onnx"):
        reranker = OnnxRanking(str(path), threads=1)
        assert reranker.identity.startswith("local:exported/")
        assert relevance(reranker, "ferry", ["ferry"]).tolist() == [1.0]


def test_a_home_folder_sign_is_followed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder.parent))
    monkeypatch.setenv("USERPROFILE", str(folder.parent))
    assert relevance(OnnxRanking("~/tiny-encoder"), "ferry", ["ferry"]).tolist() == [1.0]


@pytest.mark.parametrize(
    "data",
    [
        graph_of(kind=TensorProto.INT32),
        graph_of(output=TensorProto.FLOAT16),
        graph_of(output=TensorProto.DOUBLE),
    ],
)
def test_other_kinds_of_numbers(tmp_path: Path, data: bytes) -> None:
    folder = write_model(tmp_path / "tiny", data)
    write_tokenizer(folder)
    scores = relevance(
        OnnxRanking(str(folder), threads=1), "ferry", ["ferry", "bread", "ferry ferry"]
    )
    assert scores.dtype == np.float64
    assert scores.tolist() == [1.0, 0.0, 2.0]


@pytest.mark.parametrize("inputs", [("input_ids", "attention_mask"), ("input_ids",)])
def test_a_model_may_take_fewer_inputs(tmp_path: Path, inputs: tuple[str, ...]) -> None:
    """Without segments "ferry" with "ferry" are two of them, meeting four times."""
    folder = write_model(tmp_path / "tiny", graph_of(inputs=inputs))
    write_tokenizer(folder)
    texts = ["ferry", "unknown", "bread dough"]
    scores = relevance(OnnxRanking(str(folder), threads=1), "ferry", texts)
    assert scores.tolist() == [4.0, 1.0, 3.0]


def test_a_model_of_several_outputs_is_refused(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "classes", graph_of(factors=[1.0, -1.0, 0.0]))
    write_tokenizer(folder)
    with pytest.raises(ModelError, match=r"shape \(2, 3\) for 2 texts.*one for each"):
        relevance(OnnxRanking(str(folder)), "ferry", ["ferry", "bread"])


def test_scores_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "tiny", graph_of(factors=[float("nan")]))
    write_tokenizer(folder)
    with pytest.raises(ModelError, match="not finite"):
        relevance(OnnxRanking(str(folder)), "ferry", ["ferry"])


def test_another_kind_of_model_is_refused(tmp_path: Path) -> None:
    data = graph_of().replace(b"token_type_ids", b"pixel_values__")
    folder = write_model(tmp_path / "tiny", data)
    write_tokenizer(folder)
    with pytest.raises(ModelError, match=r"pixel_values__.*not what a cross-encoder takes"):
        OnnxRanking(str(folder))


def test_a_tokenizer_of_another_model_is_a_model_error(tmp_path: Path, folder: Path) -> None:
    """Ids beyond the model's table."""
    table = numpy_helper.from_array(np.zeros((4, 1), dtype=np.float32), "table")
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
        helper.make_node("ReduceSum", ["rows", "axis"], ["logits"], keepdims=0),
    ]
    axis = numpy_helper.from_array(np.array([1], dtype=np.int64), "axis")
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["texts", "width"])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["texts", 1])],
        [table, axis],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    write_model(folder, bytes(model.SerializeToString()))
    with pytest.raises(ModelError, match="belong together"):
        relevance(OnnxRanking(str(folder)), "ferry", ["spam"])


def test_a_tokenizer_without_an_unknown_word_is_a_model_error(folder: Path) -> None:
    made = json.loads((folder / "tokenizer.json").read_text())
    made["model"]["unk_token"] = "no"
    (folder / "tokenizer.json").write_text(json.dumps(made))
    with pytest.raises(ModelError, match=r"the tokenizer of .* failed"):
        relevance(OnnxRanking(str(folder)), "ferry", ["unheard of"])


@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json"])
def test_a_missing_file_is_named(folder: Path, missing: str) -> None:
    (folder / missing).unlink()
    with pytest.raises(ModelError, match=rf"{missing}.*reader\.model_path names a folder") as it:
        OnnxRanking(str(folder))
    assert str(folder) in str(it.value)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"nowhere does not exist.*reader\.model_path"):
        OnnxRanking(str(tmp_path / "nowhere"))


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("model.onnx", b"not a model", r"model\.onnx cannot be opened.*whole file"),
        ("model.onnx", b"", r"model\.onnx cannot be opened"),
        ("tokenizer.json", b"{", r"tokenizer\.json is not a tokenizer"),
        ("tokenizer.json", b"{}", r"tokenizer\.json is not a tokenizer"),
        ("tokenizer.json", b"\xff", r"tokenizer\.json"),
        ("tokenizer_config.json", b"{", r"tokenizer_config\.json cannot be read"),
        ("tokenizer_config.json", b"[]", r"tokenizer_config\.json cannot be read"),
    ],
)
def test_a_damaged_file_is_named(folder: Path, name: str, data: bytes, message: str) -> None:
    (folder / name).write_bytes(data)
    with pytest.raises(ModelError, match=message):
        OnnxRanking(str(folder))


def test_nothing_is_asked_over_the_network(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert relevance(OnnxRanking(str(folder)), "ferry", ["ferry"]).tolist() == [1.0]


def test_threads_get_the_right_scores(folder: Path) -> None:
    reranker = OnnxRanking(str(folder), threads=1)
    texts = ["ferry " * n for n in range(30)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: relevance(reranker, "ferry", texts).tolist(), range(8)))
    assert found == [[float(n) for n in range(30)]] * 8


def test_a_slow_model_is_given_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter(range(100))
    monkeypatch.setattr(onnx_reader, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    reranker = opened(relevance="onnx", model_path=str(folder), timeout=3.5)
    # Two of these are a batch, and a second passes before each.
    texts = ["bread " * 600] * 8
    with pytest.raises(ModelTimeoutError, match=r"8 texts within 3\.5 s.*reader\.depth"):
        relevance(reranker, "ferry", texts)
    assert relevance(reranker, "ferry", texts[:2]).tolist() == [0.0, 0.0]


def test_settings_choose_it(folder: Path) -> None:
    reader = opened(relevance="onnx", model_path=str(folder), threads=1)
    assert reader.identity.startswith("local:tiny-encoder/")
    assert reader.reranks
    assert reader.passages is not None, "the network reads passages"
    with pytest.raises(SettingsError, match=r"'onnx' has no method for reader\.answers"):
        opened(relevance="onnx", answers="onnx", model_path=str(folder))
    with pytest.raises(SettingsError, match=r"reader\.model_path is not set"):
        opened(relevance="onnx")


def test_without_the_extra_the_hint_says_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "wellread.models.readers.onnx_reader", raising=False)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ModelError, match=r'pip install "wellread\[rerank\]"'):
        opened(relevance="onnx", model_path=str(folder))
