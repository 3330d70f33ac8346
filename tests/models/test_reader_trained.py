"""The network that comes with the package, as a reader."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from wellread.config import ReaderSettings
from wellread.errors import ModelError
from wellread.models.base import Ranking, excerpts
from wellread.models.model_files import sha256_of
from wellread.models.open_reader import open_reader
from wellread.models.trained_reader import (
    MAX_QUESTION_TOKENS,
    MAX_TOKENS,
    NETWORK,
    TrainedModel,
    TrainedReader,
    encode_pair,
)
from wellread.testing.reader_contract import ReaderContract

FERRY = (
    "The Osprey was built in Leith and painted green.",
    "Nobody in the village had seen a larger boat.",
    "She leaves the harbour every morning at half past six.",
    "Tickets are sold in the tea room beside the pier.",
)


@pytest.fixture(scope="module")
def model() -> TrainedModel:
    return TrainedModel(threads=1)


@pytest.fixture(scope="module")
def trained(model: TrainedModel) -> TrainedReader:
    return TrainedReader(model)


class TestTrainedReader(ReaderContract):
    ALONE = False  # in int8, what is read together moves a score a little

    @pytest.fixture
    def reader(self, trained: TrainedReader) -> Ranking:
        return trained


def test_the_network_is_the_one_that_is_named(model: TrainedModel) -> None:
    assert sha256_of(model.path) == NETWORK
    assert model.path.stat().st_size <= 30_000_000


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("Where was the Osprey built?", 0),
        ("When does the boat leave the harbour?", 2),
        ("Where can I buy a ticket?", 3),
    ],
)
def test_the_sentence_that_answers_is_chosen(
    trained: TrainedReader, question: str, place: int
) -> None:
    (found,) = trained.read(question, [FERRY])
    assert int(np.argmax(found.sentences)) == place
    assert np.exp(found.sentences).sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("question", "odds"),
    [
        ("When does the ferry sail?", -2.52),
        ("Where can I buy a ticket?", 3.11),
        ("Who painted the boat?", -3.46),
        ("How long is the crossing?", -3.76),
    ],
)
def test_every_processor_says_the_same(model: TrainedModel, question: str, odds: float) -> None:
    """Eight-bit weights overflow without VNNI: up to .6 apart here (docs/decisions/038)."""
    (found,) = model.read([(question, FERRY)])
    assert found.answers == pytest.approx(odds, abs=0.1)


def test_a_long_pair_is_cut_and_its_lost_sentences_are_never_chosen(
    trained: TrainedReader,
) -> None:
    text = [f"Boat number {number} is moored beside the long wooden pier." for number in range(60)]
    pair = encode_pair("boat " * 200, text)
    assert len(pair.ids) <= MAX_TOKENS
    assert int((pair.sentence_numbers == 0).sum()) == MAX_QUESTION_TOKENS + 2
    (found,) = trained.read("boat " * 200, [text])
    assert found.sentences.shape == (60,)
    assert np.isneginf(found.sentences[-1])


def test_odd_texts_are_read(trained: TrainedReader) -> None:
    found = trained.read("\ud83d ", [["", "\x00", "\ud83d"], []])
    assert all(np.isfinite(each.answers) for each in found)


def test_a_lost_network_says_what_to_do(tmp_path: Path) -> None:
    reader = TrainedReader(TrainedModel(tmp_path / "gone.onnx"))
    with pytest.raises(ModelError, match="does not exist") as raised:
        reader.read("who?", [FERRY])
    assert "reader.answers" in raised.value.hint


def test_a_passage_is_as_relevant_as_its_best_run(trained: TrainedReader) -> None:
    filler = "The tide went out and the gulls came back to the sand. " * 20
    texts = excerpts(filler, f"{filler}{' '.join(FERRY)}", "Tea is sold beside the pier.")
    found = trained.relevance("When does the boat leave the harbour?", texts)
    assert int(found.argmax()) == 1
    assert ((found >= 0) & (found <= 1)).all()


def test_the_network_is_asked_for_an_order_only_where_it_is_named() -> None:
    assert open_reader(ReaderSettings(relevance="trained")).reranks
    assert not open_reader(ReaderSettings()).reranks
