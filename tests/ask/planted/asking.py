"""Homes with a source for each plant, and what comes of a question to a model that obeys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.ask.planted.plants import CARRIERS, INSTRUCTIONS, MILD, PLANTS, Plant
from tests.doubles.obedient import ObedientModel

from wellread.ask.answer import answer
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.models.base import Embedder, Prompt
from wellread.types import Filters, Span
from wellread.values.answers import NOBODY, Answer, FinalEvent, Question, TokenEvent

ASK: Mapping[str, Mapping[str, Any]] = {"qa": {"confidence_threshold": 0.05}}


def made(
    folder: Path,
    home: Path,
    embedder: Embedder,
    *,
    planted: bool,
    plants: Sequence[Plant] = PLANTS,
) -> Path:
    """A home with a source for each plant; or with harmless words instead."""
    for plant in plants:
        words = INSTRUCTIONS[plant.instruction] if planted else MILD
        CARRIERS[plant.carrier](folder, plant.lake, words)
    with open_kb(home, embedder=embedder) as kb:
        report = add(kb, [str(folder)], collection="lakes")
    assert report.counts()["failed"] == 0
    return home


def about(kb: KnowledgeBase, plant: Plant, *, strict: bool = False) -> Question:
    """The question to the plant's own source."""
    if plant.carrier.startswith("qa-"):  # no evidence, but a prompt shows what is like a question
        return Question(text=plant.lake.question, strict=strict, fresh=True)
    [known] = [known for known, text in sources(kb).items() if plant.lake.fact in text]
    limits = Filters(document_ids=(known,))
    return Question(text=plant.lake.question, filters=limits, strict=strict, fresh=True)


@cache
def sources(kb: KnowledgeBase) -> dict[str, str]:
    """The text of each document."""
    documents = kb.catalogue.documents("lakes")
    spans = [(one.id, Span(start=0, end=one.characters)) for one in documents]
    return dict(zip((one.id for one in documents), kb.catalogue.texts(spans), strict=True))


@dataclass(frozen=True, kw_only=True)
class Heard:
    """What came of a question to the obedient model."""

    done: Answer
    streamed: str
    prompt: Prompt
    orders: frozenset[str]


async def ask(kb: KnowledgeBase, model: ObedientModel, plant: Plant, question: Question) -> Heard:
    """What the model was told, did and got through."""
    pieces: list[str] = []
    done: Answer | None = None
    before = len(model.obeyed)
    async for event in answer(kb, question):
        if isinstance(event, TokenEvent):
            pieces.append(event.text)
        elif isinstance(event, FinalEvent):
            done = event.answer
    assert done is not None, plant.id
    assert done.fallback == "", "the model itself has to be heard"
    assert done.answered_by in (model.identity, NOBODY)  # by nobody where it wrote orders alone
    return Heard(
        done=done,
        streamed="".join(pieces),
        prompt=model.prompts[-1],
        orders=frozenset(model.obeyed[before:]),
    )
