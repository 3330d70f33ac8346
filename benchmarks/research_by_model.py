"""Reports of deep research that a language model writes: what of its sentences is delivered.

    python -m benchmarks.research_by_model [--gguf FILE] [--question TEXT]

Five questions on the material that comes with the program. Two writers: with ``--gguf`` a small
real model, which llama.cpp serves (extra package ``xllamacpp``); without it one by a script that
mixes, for each section, sentences of its evidence with lies: another number, a sentence turned
into its opposite, one that nobody ever said. True sentences come under another passage's key as
well and under one that does not exist: these may be delivered, with a citation that bears them
out. Its lies are known, so that what is delivered of them can be counted.

Counted of each report: delivered sentences, those of them that the checker bears out, citations
whose words do not stand in the document that they name, lies delivered, calls and money.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
from tests.doubles.small_model import serving

from benchmarks.homes import default_embedder, filled
from benchmarks.record import save
from benchmarks.research_kills import SHIPPED, write_sample
from wellread.config import GenerationSettings
from wellread.kb import KnowledgeBase, open_kb
from wellread.models.base import LanguageModel, ModelUsage, Piece, Prompt, TextDelta
from wellread.models.open_language_model import open_model
from wellread.research.research import default_limits, last_report, research
from wellread.text.parsed import parse
from wellread.text.sentences import sentence_spans
from wellread.values.answers import Question
from wellread.values.reports import Report, ResearchRequest

_PASSAGE = re.compile(r'<passage-\w+ key="(?P<key>\w+)">.*?text:\n(?P<text>.*?)</passage-', re.S)
_NUMBER = re.compile(r"\b\d[\d.,]*\d\b|\b\d\b")
_VERB = re.compile(r"\b(is|are|was|were|has|have|had|can|will)\b")
TOLD = (40, 240)  # characters of a sentence that the script takes
MOST = 6  # passages of a section that it takes one from
MADE_UP = "The emperor of Brazil paid for all of it in silver coins."


class LyingWriter:
    """Writes sections of true and false sentences. Attributes: lies: kind of each false one."""

    identity = "scripted:liar"

    def __init__(self) -> None:
        self.lies: dict[str, str] = {}

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Piece, None]:
        """A section of its evidence; the sentences as they stand for a summary; else DONE."""
        passages = [(one["key"], one["text"]) for one in _PASSAGE.finditer(prompt.user)]
        text = "\n".join(self._section(passages)) if passages else summary(prompt.user)
        yield TextDelta(text=text)
        words = len(f"{prompt.system} {prompt.user}".split())
        yield ModelUsage(
            model=self.identity,
            input_tokens=words,
            output_tokens=len(text.split()),
            cost=words / 1e6,
        )

    def _section(self, passages: list[tuple[str, str]]) -> Iterator[str]:
        first = [(key, fit(text)) for key, text in passages[:MOST]]
        told = [(key, found[0]) for key, found in first if found]
        yield from (f"{found[1]} [e999]" for _, found in first[:1] if found[1:])
        for place, (key, said) in enumerate(told):
            yield f"{said} [{key}]"
            other, unlike = told[(place + 1) % len(told)]
            for kind, lie in (
                ("number", _NUMBER.sub("7421", said, count=1)),
                ("opposite", _VERB.sub(r"\1 not", said, count=1)),
                ("made up", MADE_UP),
            ):
                if lie != said:
                    self.lies[plain(lie)] = kind
                    yield f"{lie} [{key}]"
            if other != key and not set(parse(said).topic_stems) & set(parse(unlike).topic_stems):
                yield f"{said} [{other}]"


def fit(text: str) -> list[str]:
    """Sentences of ``text`` of a usual length that end as sentences do."""
    said = [" ".join(span.of(text).split()) for span in sentence_spans(text)]
    return [one for one in said if TOLD[0] <= len(one) <= TOLD[1] and one.endswith(".")]


def summary(shown: str) -> str:
    """The first sentences of the sections that a summary is asked of; DONE where none are shown."""
    lines = [line.lstrip("- ") for line in shown.splitlines() if re.search(r"\[e\d+\]\s*$", line)]
    return "\n".join(lines[:4]) or "DONE"


def plain(text: str) -> str:
    """A sentence without its markers and marks, to be compared."""
    return " ".join(re.findall(r"\w+", re.sub(r"\[\w+\]", "", text).lower()))


def main() -> None:
    """Research, print, write ``results/research_by_model-WRITER.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--gguf", type=Path, help="the file of a small model")
    parser.add_argument("--seconds", type=float, default=600.0, help="limit of each report")
    parser.add_argument("--question", action="append", help="in place of the five")
    chosen = parser.parse_args()
    liar = LyingWriter()
    with filled("shipped", write_sample) as kb:
        home = kb.home
    rows = []
    with served(chosen.gguf) if chosen.gguf else nullcontext(liar) as writer:
        for question in chosen.question or SHIPPED:
            liar.lies.clear()
            with open_kb(home, embedder=default_embedder(), model=writer) as kb:
                report = anyio.run(researched, kb, question, chosen.seconds)
                rows.append(counted(kb, report, liar.lies))
            print(json.dumps(rows[-1]), flush=True)
    name = chosen.gguf.stem if chosen.gguf else "lying-script"
    figures = {"writer": name, "reports": rows}
    save(f"research_by_model-{name}", figures)
    print("\n".join(table(figures)))


@contextmanager
def served(path: Path) -> Iterator[LanguageModel]:
    """The model in a file, served on this machine."""
    with serving(path, tokens=8192) as url:
        settings = GenerationSettings(
            model="small", base_url=url, max_tokens=200, temperature=0, timeout=300
        )
        model = open_model(settings, {})
        assert model is not None
        yield model


async def researched(kb: KnowledgeBase, question: str, seconds: float) -> Report:
    """The report on a question."""
    limits = replace(default_limits(kb), seconds=seconds)
    asked = Question(text=question)
    return await last_report(research(kb, ResearchRequest(question=asked, limits=limits)))


def counted(kb: KnowledgeBase, report: Report, lies: Mapping[str, str]) -> dict[str, Any]:
    """The counts of one report."""
    answer = report.answer
    cited = {one.id: one for one in answer.citations}
    texts = {
        number: kb.catalogue.texts([(one.document_id, one.source_span)])[0]
        for number, one in cited.items()
    }
    delivered = [one for one in answer.sentences if one.citations]
    return {
        "question": answer.question,
        "by": answer.answered_by,
        "stopped": report.stopped,
        "delivered": len(answer.sentences),
        "cite": len(delivered),
        "borne out": sum(one.verdict.name.whole for one in delivered),
        "cited without being there": sum(
            number not in cited for one in delivered for number in one.citations
        )
        + sum(plain(cited[number].quote) not in plain(text) for number, text in texts.items()),
        "lies": dict(Counter(lies.values())),
        "lies delivered": [one.text for one in answer.sentences if plain(one.text) in lies],
        "dropped": answer.dropped_sentences,
        "unknown keys": answer.hallucinated_citations,
        "calls": report.calls,
        "searches": report.searches,
        "cost": round(answer.usage.cost, 6),
        "seconds": round(report.seconds, 1),
        "fallback": answer.fallback,
    }


def table(figures: Mapping[str, Any]) -> list[str]:
    """The Markdown table of one writer."""
    columns = ("delivered", "cite", "borne out", "cited without being there", "dropped", "calls")
    lines = [
        f"| {figures['writer']}: question | {' | '.join(columns)} | lies delivered | stopped |",
        "|---" * (len(columns) + 3) + "|",
    ]
    for row in figures["reports"]:
        shown = [str(row[name]) for name in columns]
        lies = f"{len(row['lies delivered'])} of {sum(row['lies'].values())}"
        lines.append(f"| {row['question']} | {' | '.join(shown)} | {lies} | {row['stopped']} |")
    return lines


if __name__ == "__main__":
    main()
