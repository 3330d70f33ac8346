"""A fact-checking model from a folder, with a tiny model and tokenizer that are made here."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tests.doubles.readers import opened
from tokenizers import Regex, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split
from tokenizers.processors import TemplateProcessing

from wellread.errors import ModelError, ModelTimeoutError, SettingsError
from wellread.models.reader import Case, excerpts
from wellread.models.readers import onnx_reader
from wellread.models.readers.onnx_reader import WINDOW, OnnxChecking, windows
from wellread.testing.reader_contract import CheckingContract

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
VOCABULARY = [*SPECIAL, *"ferry harbour leaves bread dough rises".split()]
SHARES = Case(claim="ferry leaves", passages=excerpts("ferry leaves harbour"))
SHARES_NOT = Case(claim="bread rises", passages=excerpts("ferry leaves harbour"))


def write_tokenizer(folder: Path) -> None:
    tokenizer = Tokenizer(
        WordLevel({word: at for at, word in enumerate(VOCABULARY)}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = Split(Regex(r"\W"), "removed")
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.save(str(folder / "tokenizer.json"))


def write_model(folder: Path, factors: Sequence[float], biases: Sequence[float]) -> None:
    """A model that counts the words that document and claim share: count * factor + bias."""
    known = [float(word not in SPECIAL) for word in VOCABULARY]
    constants: dict[str, NDArray[Any]] = {
        "depth": np.array(len(VOCABULARY), dtype=np.int64),
        "values": np.array([0, 1], dtype=np.float32),
        "known": np.array(known, dtype=np.float32),
        "one": np.array(1, dtype=np.float32),
        "last": np.array([2], dtype=np.int64),
        "tokens": np.array([1], dtype=np.int64),
        "factors": np.array([factors], dtype=np.float32),
        "biases": np.array([biases], dtype=np.float32),
    }
    steps: list[tuple[str, list[str], str, dict[str, Any]]] = [
        ("OneHot", ["input_ids", "depth", "values"], "hot", {"axis": -1}),
        ("Cast", ["attention_mask"], "mask", {"to": TensorProto.FLOAT}),
        ("Cast", ["token_type_ids"], "claim_side", {"to": TensorProto.FLOAT}),
        ("Sub", ["one", "claim_side"], "all_other", {}),
        ("Mul", ["all_other", "mask"], "document_side", {}),
        ("Unsqueeze", ["claim_side", "last"], "claim_column", {}),
        ("Unsqueeze", ["document_side", "last"], "document_column", {}),
        ("Mul", ["hot", "claim_column"], "claim_hot", {}),
        ("Mul", ["hot", "document_column"], "document_hot", {}),
        ("ReduceSum", ["claim_hot", "tokens"], "claim_words", {"keepdims": 0}),
        ("ReduceSum", ["document_hot", "tokens"], "document_words", {"keepdims": 0}),
        ("Mul", ["claim_words", "document_words"], "both", {}),
        ("Mul", ["both", "known"], "shared", {}),
        ("ReduceSum", ["shared", "tokens"], "count", {"keepdims": 1}),
        ("Mul", ["count", "factors"], "scaled", {}),
        ("Add", ["scaled", "biases"], "logits", {}),
    ]
    names = ("input_ids", "attention_mask", "token_type_ids")
    graph = helper.make_graph(
        [helper.make_node(kind, given, [name], **more) for kind, given, name, more in steps],
        "tiny",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["pairs", "width"])
            for name in names
        ],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["pairs", len(factors)])],
        [numpy_helper.from_array(values, name) for name, values in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    (folder / "model.onnx").write_bytes(model.SerializeToString())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model with one output: one shared word is even, two speak for the claim."""
    made = tmp_path / "tiny-checker"
    made.mkdir()
    write_tokenizer(made)
    write_model(made, [4.0], [-4.0])
    return made


class TestOnnxChecking(CheckingContract):
    @pytest.fixture
    def reader(self, folder: Path) -> OnnxChecking:
        return OnnxChecking(str(folder), threads=1)


def names(folder: Path, *cases: Case) -> list[str]:
    return [ruling.name for ruling in OnnxChecking(str(folder), threads=1).entails(cases)]


def test_one_output_is_read_as_log_odds(folder: Path) -> None:
    judge = OnnxChecking(str(folder), threads=1)
    first, second, third = judge.entails(
        [SHARES, SHARES_NOT, Case(claim="ferry bread", passages=excerpts("ferry leaves"))]
    )
    assert (first.name, first.reason) == ("supported", "a fact-checking model gives it 98%")
    assert (second.name, third.name) == ("unsupported", "supported")
    assert judge.entails([]) == []
    assert judge.identity.startswith("local:tiny-checker/")


def test_between_the_thresholds_it_is_partial(folder: Path) -> None:
    write_model(folder, [3.5], [-4.0])  # one shared word: 38 %
    assert names(folder, Case(claim="ferry bread", passages=excerpts("ferry leaves"))) == [
        "partial"
    ]


def test_of_two_outputs_the_second_speaks_for_the_claim(folder: Path) -> None:
    write_model(folder, [-3.0, 3.0], [3.0, -3.0])
    assert names(folder, SHARES, SHARES_NOT) == ["supported", "unsupported"]


@pytest.mark.parametrize(
    "labels",
    [
        {"0": "entailment", "1": "not_entailment"},
        {"0": "SUPPORTED", "1": "REFUTED"},
    ],
)
def test_the_models_settings_say_which_output_it_is(folder: Path, labels: dict[str, str]) -> None:
    write_model(folder, [3.0, -3.0], [-3.0, 3.0])
    assert names(folder, SHARES) == ["unsupported"]
    (folder / "config.json").write_text(json.dumps({"id2label": labels}))
    assert names(folder, SHARES, SHARES_NOT) == ["supported", "unsupported"]


def test_three_outputs_need_the_settings(folder: Path) -> None:
    write_model(folder, [-3.0, 3.0, 0.0], [3.0, -3.0, 0.0])
    with pytest.raises(ModelError, match=r"gives 3 numbers.*id2label"):
        names(folder, SHARES)
    labels = {"0": "contradiction", "1": "entailment", "2": "neutral"}
    (folder / "config.json").write_text(json.dumps({"id2label": labels}))
    assert names(folder, SHARES, SHARES_NOT) == ["supported", "unsupported"]
    (found,) = OnnxChecking(str(folder), threads=1).entails([SHARES_NOT])
    assert found.contradicts > 0.9
    assert found.supports + found.contradicts + found.neither == pytest.approx(1)


@pytest.mark.parametrize("text", ["{", "[]", '{"id2label": {"x": "entailment"}}'])
def test_damaged_settings_are_named(folder: Path, text: str) -> None:
    (folder / "config.json").write_text(text)
    with pytest.raises(ModelError, match=r"config\.json cannot be read"):
        OnnxChecking(str(folder))


def test_the_best_window_of_a_long_document_decides(folder: Path) -> None:
    document = "Bread rises. " * 300 + "The ferry leaves now."
    assert names(folder, Case(claim="ferry leaves", passages=excerpts(document))) == ["supported"]
    assert names(folder, Case(claim="ferry leaves", passages=excerpts(document[:-21]))) == [
        "unsupported"
    ]
    first = "The ferry leaves now. " + "Bread rises. " * 300
    assert names(folder, Case(claim="ferry leaves", passages=excerpts(first))) == ["supported"]


def test_windows_hold_every_sentence_once() -> None:
    document = "\n".join(f"Sentence number {n} is here." for n in range(200))
    cut = windows(document)
    assert len(cut) > 2
    assert max(map(len, cut)) <= WINDOW
    assert "".join("".join(cut).split()) == "".join(document.split())
    assert windows("") == [""]
    assert [len(each) for each in windows("x" * 4_000)] == [4_000]


def test_a_number_that_is_not_finite_is_refused(folder: Path) -> None:
    write_model(folder, [float("nan")], [0.0])
    with pytest.raises(ModelError, match="not finite"):
        names(folder, SHARES)


def test_a_slow_model_is_given_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter(range(100))
    monkeypatch.setattr(onnx_reader, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    judge = OnnxChecking(str(folder), threads=1, timeout=1.5)
    many = [Case(claim="ferry", passages=excerpts("bread dough " * 240))] * 6
    with pytest.raises(ModelTimeoutError, match=r"6 claims within 1\.5 s.*reader\.most"):
        judge.entails(many)


def test_settings_choose_it(folder: Path) -> None:
    assert opened(entails="onnx", entails_path=str(folder)).heads == {"entails"}
    with pytest.raises(SettingsError, match=r"entails is onnx, but reader\.entails_path"):
        opened(entails="onnx")
    with pytest.raises(ModelError, match=r"nowhere does not exist.*reader\.entails_path"):
        OnnxChecking(str(folder / "nowhere"))


def test_without_the_extra_the_hint_says_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "wellread.models.readers.onnx_reader", raising=False)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ModelError, match=r'pip install "wellread\[rerank\]"'):
        opened(entails="onnx", entails_path=str(folder))
