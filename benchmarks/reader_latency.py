"""How long an answer takes with the trained reader, beside words alone: one process, in turn.

    python -m benchmarks.reader_latency

The questions of the exam's development half about the sample, each asked with the network and then
without it, so that both meet the same machine. Printed are the medians and their ratio.
"""

from __future__ import annotations

import asyncio
import statistics
import time

from benchmarks.exam import QUESTIONS
from benchmarks.exam_marks import read_questions
from benchmarks.homes import open_home
from wellread.answers import Question
from wellread.ask.answer import answer, final
from wellread.evaluation.bootstrap import percentile
from wellread.kb import KnowledgeBase

WARM_UP = 3
WORDS = {"reader": {"answers": "lexical"}}


def main() -> None:
    """Ask in turn, print."""
    asked = [
        one.question
        for one in read_questions(QUESTIONS / "exam-dev.jsonl")
        if one.base == "sample" and not one.before
    ]
    with open_home("exam-sample") as read, open_home("exam-sample", WORDS) as words:
        for question in asked[:WARM_UP]:
            _seconds(read, question)
            _seconds(words, question)
        pairs = [(_seconds(read, one), _seconds(words, one)) for one in asked]
    for name, times in zip(("network", "words"), zip(*pairs, strict=True), strict=True):
        told = f"p50 {statistics.median(times):.3f} s, p95 {percentile(list(times), 0.95):.3f} s"
        print(f"{name:8}{told} of {len(times)}")
    one, other = (statistics.median(times) for times in zip(*pairs, strict=True))
    print(f"ratio of the medians {one / other:.2f}")


def _seconds(kb: KnowledgeBase, question: str) -> float:
    began = time.perf_counter()
    asyncio.run(final(answer(kb, Question(text=question, fresh=True))))
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
