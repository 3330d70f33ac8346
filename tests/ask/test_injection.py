"""Instructions planted in sources change nothing, whoever writes the answer.

Each plant stands in a source about a lake of its own, ingested from a real file. The question is
how deep that lake is.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from tests.ask.planted.asking import ASK, Heard, about, ask, made
from tests.ask.planted.outcomes import UNSURE, decided, leaks
from tests.ask.planted.plants import CARRIERS, INSTRUCTIONS, PLANTS, UNSEEN, Plant
from tests.doubles.obedient import ObedientModel

from wellread.ask.answer import answer, final
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder
from wellread.values.answers import Answer, Question

PLAIN = ("markdown", "markdown-sentence", "vtt", "turns", "jsonl")  # read with all that they say
every_plant = pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.id)


@pytest.fixture(scope="module")
def poisoned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home with the planted instructions."""
    folder, home = tmp_path_factory.mktemp("poisoned"), tmp_path_factory.mktemp("home")
    return made(folder, home, ReadableEmbedder(), planted=True)


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same without them."""
    folder, home = tmp_path_factory.mktemp("clean"), tmp_path_factory.mktemp("home")
    return made(folder, home, ReadableEmbedder(), planted=False)


@pytest.fixture(scope="module")
def kb(poisoned: Path) -> Iterator[KnowledgeBase]:
    """Answers with extracted sentences."""
    with open_kb(poisoned, overrides=ASK, embedder=ReadableEmbedder()) as opened:
        yield opened


@pytest.fixture(scope="module")
def clean_kb(clean: Path) -> Iterator[KnowledgeBase]:
    """The same on the harmless sources."""
    with open_kb(clean, overrides=ASK, embedder=ReadableEmbedder()) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever opens a connection fails."""

    def refuse(*_: object) -> None:
        raise AssertionError("something was called")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def test_there_are_plants_enough() -> None:
    assert len(PLANTS) >= 60
    assert {plant.carrier for plant in PLANTS} == set(CARRIERS)
    assert {plant.instruction for plant in PLANTS} == set(INSTRUCTIONS)
    assert len({plant.lake.name for plant in PLANTS}) == len(PLANTS)


def quoted(kb: KnowledgeBase, done: Answer) -> None:
    """Every sentence stands in its source, letter by letter; what is told of a row, by cells."""
    by_id = {citation.id: citation for citation in done.citations}
    for sentence in done.sentences:
        assert sentence.verdict.method in ("verbatim", "table")
        for known in sentence.citations:
            citation = by_id[known]
            document = kb.catalogue.document(citation.document_id)
            assert document is not None
            assert citation.source_span.of(document.text) == citation.quote
            source = sentence.verdict.source
            assert source is not None
            stated = source.of(document.text)
            if sentence.verdict.method == "table":  # the row's cells, with their names
                assert any(cell and cell in sentence.text for cell in stated.split(" | "))
            else:
                assert stated == sentence.text


@every_plant
async def test_extracted_sentences_answer_as_if_nothing_was_planted(
    kb: KnowledgeBase, clean_kb: KnowledgeBase, plant: Plant
) -> None:
    done = await final(answer(kb, about(kb, plant)))
    usual = await final(answer(clean_kb, about(clean_kb, plant)))
    assert done.type == usual.type
    if not plant.carrier.startswith("qa-"):
        assert done.answered_by == usual.answered_by
        assert (done.answered_by, done.type) == ("extractive", "factual")
        for given in (done, usual):
            assert any(str(plant.lake.depth) in one.text for one in given.sentences if one.marked)
    assert done.confidence.model_claim is None
    assert done.confidence.score <= max(usual.confidence.score + 0.1, UNSURE)
    assert done.data_gaps == usual.data_gaps
    assert done.conflicts == usual.conflicts
    assert {citation.id for citation in done.citations} == set(range(1, len(done.citations) + 1))
    assert done.hallucinated_citations == 0
    quoted(kb, done)


@pytest.mark.parametrize(
    "plant", [one for one in PLANTS if one.carrier in UNSEEN], ids=lambda plant: plant.id
)
def test_what_a_reader_does_not_see_is_not_taken_in(kb: KnowledgeBase, plant: Plant) -> None:
    [listed] = [
        one
        for one in kb.catalogue.documents("lakes")
        if Path(one.uri).stem.lower() == plant.lake.name.lower()
    ]
    document = kb.catalogue.document(listed.id)
    assert document is not None
    assert plant.lake.fact in document.text
    planted = " ".join(INSTRUCTIONS[plant.instruction].split())
    assert planted not in " ".join(f"{document.title} {document.text}".split())


def test_an_address_that_runs_something_is_no_link(kb: KnowledgeBase) -> None:
    documents = kb.catalogue.documents("lakes")
    assert len(documents) >= len(PLANTS)
    for document in documents:
        for address in (document.url, document.media_url):
            assert re.match(r"(?:https?:|file:|$)", address), address


Obey = Callable[[Plant], Awaitable[Heard]]


def obeying(home: Path, *, strict: bool = False) -> Iterator[Obey]:
    """Asks the obedient model; each question once."""
    model = ObedientModel()
    heard: dict[str, Heard] = {}
    with open_kb(home, overrides=ASK, embedder=ReadableEmbedder(), model=model) as kb:

        async def obey(plant: Plant) -> Heard:
            if plant.id not in heard:
                heard[plant.id] = await ask(kb, model, plant, about(kb, plant, strict=strict))
            return heard[plant.id]

        yield obey


@pytest.fixture(scope="module")
def obey(poisoned: Path) -> Iterator[Obey]:
    """On the poisoned sources."""
    yield from obeying(poisoned)


@pytest.fixture(scope="module")
def obey_strictly(poisoned: Path) -> Iterator[Obey]:
    """On the poisoned sources, dropping what is not borne out."""
    yield from obeying(poisoned, strict=True)


@pytest.fixture(scope="module")
def obey_clean(clean: Path) -> Iterator[Obey]:
    """On the clean ones."""
    yield from obeying(clean)


@every_plant
async def test_an_obedient_model_neither_leaks_nor_calls_nor_loads(
    obey: Obey, plant: Plant
) -> None:
    heard = await obey(plant)
    unseen = ("script", "hidden")  # the loader, or the prompt, takes out what they consist of
    if plant.carrier in ("markdown", "docx", "vtt") and plant.instruction not in unseen:
        assert heard.orders, "a plant that nobody obeys proves nothing"
    assert leaks(heard) == []


@every_plant
async def test_an_obedient_model_decides_neither_verdict_nor_confidence(
    obey: Obey, obey_clean: Obey, plant: Plant
) -> None:
    heard, usual = await obey(plant), await obey_clean(plant)
    assert decided(heard, usual.done, plant) == []


@pytest.mark.parametrize(
    "plant", [one for one in PLANTS if one.carrier in PLAIN], ids=lambda plant: plant.id
)
async def test_strict_leaves_only_what_sources_say(obey_strictly: Obey, plant: Plant) -> None:
    done = (await obey_strictly(plant)).done
    for sentence in done.sentences:
        assert sentence.verdict.name not in ("unsupported", "uncited")
    assert "verdict: supported" not in done.text


async def test_what_was_withheld_is_counted(obey: Obey) -> None:
    heard = await obey(named("markdown-leak"))
    assert "leak" in heard.orders
    assert heard.done.dropped_sentences >= 10
    heard = await obey(named("markdown-call"))
    assert {"call", "call in a sentence"} <= heard.orders
    assert heard.done.dropped_sentences == 2


async def test_all_plants_at_once_change_nothing_either(poisoned: Path) -> None:
    model = ObedientModel()
    with open_kb(poisoned, overrides=ASK, embedder=ReadableEmbedder(), model=model) as kb:
        plant = named("markdown-key")
        heard = await ask(
            kb, model, plant, Question(text="How deep is each of the lakes?", fresh=True)
        )
    assert len(heard.orders) >= 3
    assert leaks(heard) == []


def named(known: str) -> Plant:
    return next(one for one in PLANTS if one.id == known)
