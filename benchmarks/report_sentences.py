"""Sentences of reports beside their sources, to be read; and how near they are to the question.

    python -m benchmarks.report_sentences [--each 12]

Five questions on Optech's newsletters are researched without a language model. Of each report
``--each`` sentences, drawn by a fixed seed, are printed with the text around what they cite. The
last lines count all sentences whose cosine to the question is below .3, and those of them that
hold none of its words: most of these tell of something else than was asked.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator

import anyio

from benchmarks.homes import filled
from benchmarks.sets.meetings import MENTIONS
from wellread.kb import KnowledgeBase
from wellread.research.research import last_report, research
from wellread.text.parsed import parse
from wellread.types import Span
from wellread.values.answers import Answer, Question
from wellread.values.reports import ResearchRequest

SEED = 7
AROUND = 120  # characters on each side of a citation
FAR = 0.3  # cosine
QUESTIONS = (
    "What has happened with package relay over the years?",
    "Compare eltoo and LN-penalty channel updates.",
    "Everything about silent payments",
    "How did fee bumping develop: RBF and CPFP?",
    "What do the sources say about covenants?",
)


async def _answers(kb: KnowledgeBase) -> list[Answer]:
    reports = [
        await last_report(research(kb, ResearchRequest(question=Question(text=question))))
        for question in QUESTIONS
    ]
    return [report.answer for report in reports]


def _beside_sources(kb: KnowledgeBase, answer: Answer, places: list[int]) -> Iterator[str]:
    cited = {one.id: one for one in answer.citations}
    for place in places:
        sentence = answer.sentences[place]
        yield f"[{place}] {sentence.verdict.name.value}: {sentence.text}"
        for number in sentence.citations:
            one = cited[number]
            at = one.source_span
            around = Span(start=max(0, at.start - AROUND), end=at.end + AROUND)
            (text,) = kb.catalogue.texts([(one.document_id, around)])
            yield f"    [{number}] {one.title}: … {' '.join(text.split())} …"


def _far(kb: KnowledgeBase, answer: Answer) -> tuple[int, int]:
    """Sentences far from the question, and those of them without a word of it."""
    said = [one.text for one in answer.sentences]
    vectors = kb.embedder.embed([answer.question, *said], "query")
    wanted = frozenset(parse(answer.question).topic_stems)
    far = [text for text, near in zip(said, vectors[1:] @ vectors[0], strict=True) if near < FAR]
    return len(far), sum(not wanted & parse(text).stem_set for text in far)


def main() -> None:
    """Print the sentences and the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=12, help="sentences of each report")
    each = parser.parse_args().each
    drawn = random.Random(SEED)
    total = far = without = 0
    with filled(MENTIONS.name, MENTIONS.write) as kb:
        for answer in anyio.run(_answers, kb):
            count = len(answer.sentences)
            places = sorted(drawn.sample(range(count), min(each, count)))
            sys.stdout.write(f"\n## {answer.question} ({count} sentences)\n")
            sys.stdout.writelines(f"{line}\n" for line in _beside_sources(kb, answer, places))
            counted = _far(kb, answer)
            total, far, without = total + count, far + counted[0], without + counted[1]
    sys.stdout.write(f"\n{total} sentences; cosine below {FAR}: {far}; no word of it: {without}\n")


if __name__ == "__main__":
    main()
