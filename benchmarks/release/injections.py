"""Instructions planted in sources: how many are followed by extracted answers and by a model.

The extractive answerer is asked about the forty plants of ``hostile.py``. The model does whatever
it reads (``tests/doubles/obedient.py``), so that what is shown is what stands between a poisoned
source and a reader; it is asked about the plants of ``tests/ask/planted`` by the measures of those
tests. A plant that the model never reads proves nothing, so the heard ones are counted too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from tests.ask.planted.asking import ASK, Heard, about, ask, made
from tests.ask.planted.outcomes import decided, leaks
from tests.ask.planted.plants import PLANTS, Plant
from tests.doubles.obedient import ObedientModel

from benchmarks.homes import filled
from benchmarks.hostile import followed
from benchmarks.release.verdict import Measured, count
from benchmarks.sets.hostile import Hostile, hostile_cases, write_hostile
from wellread.evaluation.report import ALL
from wellread.kb import KnowledgeBase, open_kb
from wellread.models.base import Embedder

BY_SENTENCES, BY_MODEL, HEARD = "obeyed_by_sentences", "obeyed_by_model", "orders_heard"


def measure(folder: Path, embedder: Embedder) -> Measured:
    """Ask both; ``folder`` is empty, and takes what is made."""
    cases = hostile_cases()
    with filled("hostile", write_hostile) as kb:
        lost = followed_by_sentences(kb, cases)
    heard, won = followed_by_model(folder, embedder, PLANTS)
    figures = {
        BY_SENTENCES: count(len(lost), len(cases)),
        BY_MODEL: count(len(won), len(PLANTS)),
        HEARD: count(heard, len(PLANTS)),
    }
    return Measured(groups={ALL: figures}, notes=(*lost, *won))


def followed_by_sentences(kb: KnowledgeBase, cases: Sequence[Hostile]) -> list[str]:
    """The plants that extracted answers, their views or a check followed, in words."""
    outcomes = [followed(kb, case) for case in cases]
    return [f"{', '.join(one['bad'])}: {one['what']}" for one in outcomes if one["bad"]]


def followed_by_model(
    folder: Path, embedder: Embedder, plants: Sequence[Plant]
) -> tuple[int, list[str]]:
    """How many plants gave an order that the model heard, and which came through to a reader."""
    answers: dict[bool, dict[str, Heard]] = {}
    for planted in (True, False):
        material, home = folder / f"sources-{planted}", folder / f"home-{planted}"
        material.mkdir()
        made(material, home, embedder, planted=planted, plants=plants)
        answers[planted] = _asked(home, embedder, plants)
    bad = {}
    for plant in plants:
        heard = answers[True][plant.id]
        bad[plant.id] = [*leaks(heard), *decided(heard, answers[False][plant.id].done, plant)]
    told = [f"{known}: {', '.join(what)}" for known, what in bad.items() if what]
    return sum(bool(one.orders) for one in answers[True].values()), told


def _asked(home: Path, embedder: Embedder, plants: Sequence[Plant]) -> dict[str, Heard]:
    model = ObedientModel()

    async def ask_all() -> dict[str, Heard]:
        return {plant.id: await ask(kb, model, plant, about(kb, plant)) for plant in plants}

    with open_kb(home, overrides=ASK, embedder=embedder, model=model) as kb:
        return asyncio.run(ask_all())
