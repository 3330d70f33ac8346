"""Sixteen threads ask one knowledge base: whether each answer is the one that is given alone.

    python -m benchmarks.parallel [--questions 2000]

HotpotQA's questions and made ones on titles of its pages. Each is asked once by itself and once
by one of sixteen threads, kept answers aside; the text, the citations and the confidence have to
be the same.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from benchmarks.homes import documents, filled
from benchmarks.record import save
from benchmarks.sets.items import HOTPOT
from wellread.ask.answer import answer, final
from wellread.kb import KnowledgeBase
from wellread.values.answers import Question

THREADS = 16
SHAPES = (
    "What is {}?",
    "When was {} founded or born?",
    "Who is named with {}?",
    "Where is {}?",
    "What do the sources say about {}?",
    "How many pages mention {}?",
    "Compare {} and {}",
)


def main() -> None:
    """Ask, print, write ``results/parallel.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--questions", type=int, default=2_000)
    count = parser.parse_args().questions
    with filled(HOTPOT.name, HOTPOT.write) as kb:
        asked = questions(kb, count)
        began = time.perf_counter()
        alone = [given(kb, text) for text in asked]
        serial = time.perf_counter() - began
        order = random.Random(2).sample(range(count), count)
        began = time.perf_counter()
        with ThreadPoolExecutor(THREADS) as threads:
            found = dict(
                zip(order, threads.map(lambda at: given(kb, asked[at]), order), strict=True)
            )
        parallel = time.perf_counter() - began
    others = [at for at in range(count) if found[at] != alone[at]]
    for at in others[:10]:
        print(f"{asked[at]}\n  alone: {alone[at]}\n  beside others: {found[at]}")
    figures = {
        "questions": count,
        "threads": THREADS,
        "the same": count - len(others),
        "seconds, one after the other": round(serial, 1),
        "seconds, side by side": round(parallel, 1),
    }
    save("parallel", figures)
    print("\n".join(table(figures)))
    sys.exit(bool(others))


def questions(kb: KnowledgeBase, count: int) -> list[str]:
    """So many questions, none twice."""
    chance = random.Random(1)
    titles = sorted({one.title for one in documents(kb)})
    found = dict.fromkeys(query.text for query in HOTPOT.queries(kb))
    while len(found) < count:
        found[chance.choice(SHAPES).format(*chance.sample(titles, 2))] = None
    return list(found)[:count]


def given(kb: KnowledgeBase, text: str) -> list[Any]:
    """What is answered, without what differs each time."""
    asked = Question(text=text, fresh=True, recorded=False)
    done = asyncio.run(final(answer(kb, asked)))
    cited = [(one.document_id, one.source_span, one.quote) for one in done.citations]
    verdicts = [one.verdict.name for one in done.sentences]
    return [done.text, cited, verdicts, done.confidence.score, done.data_gaps]


def table(figures: Mapping[str, Any]) -> list[str]:
    """The figures as a sentence."""
    return [
        f"{figures['the same']:,} of {figures['questions']:,} answers are the same beside "
        f"{figures['threads']} threads as alone "
        f"({figures['seconds, one after the other']:,} and {figures['seconds, side by side']:,} s)."
    ]


if __name__ == "__main__":
    main()
