"""How long each step of answering takes, over the answers that were given last."""

from __future__ import annotations

from collections import defaultdict

from wellread.evaluation.scores import percentile
from wellread.kb import KnowledgeBase
from wellread.serve.features.bodies import PlainBody

ANSWERS_MEASURED = 200


class StepLatencyBody(PlainBody):
    """Seconds of one step: half of the ``answers`` that have it took less than ``median``."""

    name: str
    answers: int
    median: float
    p95: float


def step_latencies(kb: KnowledgeBase) -> tuple[StepLatencyBody, ...]:
    """Each step of the newest stored answers, the slowest first.

    A step that an answer went through several times (a question in parts) counts once, as the sum.

    Raises:
        StoreError: the catalogue cannot be read.
    """
    found: defaultdict[str, list[float]] = defaultdict(list)
    for steps in kb.catalogue.sessions.steps(kb.asker.owner, ANSWERS_MEASURED):
        seconds: defaultdict[str, float] = defaultdict(float)
        for step in steps:
            seconds[step.name] += step.seconds
        for name, taken in seconds.items():
            found[name].append(taken)
    bodies = (
        StepLatencyBody(
            name=name,
            answers=len(taken),
            median=round(percentile(taken, 0.5), 4),
            p95=round(percentile(taken, 0.95), 4),
        )
        for name, taken in found.items()
    )
    return tuple(sorted(bodies, key=lambda one: (-one.median, -one.p95, one.name)))
