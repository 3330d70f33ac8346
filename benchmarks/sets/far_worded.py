"""Documents of our own with questions in other words than theirs, and near ones without answer.

No network was trained on them. Each is a plain text in one base, and what is asked of it is asked
in it alone, since people who look at a text do not name it. The questions share few words with the
sentence that answers, so that what is learned or measured here does not reward shared words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from training.written import Passage, passages

from benchmarks.homes import by_file_name, find_quote, text_of
from benchmarks.sets.asked import Asked, AskedSet, Gold, missing_gold
from wellread.kb import KnowledgeBase
from wellread.types import Filters

DOCUMENTS = Path(__file__).parent / "far_worded"
_PROSE = re.compile(r"(?!- )(?!.* \| )(?!\w+(?: \w+)?: ).*[.!?…][\"'”’)]*")


def _documents() -> Iterator[tuple[str, Passage]]:
    for number, one in enumerate(passages(DOCUMENTS), 1):
        yield f"{number:03}", one


def _text(one: Passage) -> str:
    """Its title, then its sentences: prose in paragraphs, all else in lines of its own."""
    title, *told = one.sentences
    parts = [title]
    for before, line in zip(("", *told), told, strict=False):
        prose = _PROSE.fullmatch(line) and _PROSE.fullmatch(before)
        listed = _PROSE.fullmatch(line) is None and " | " in before + line
        if prose or (listed and " | " in before and " | " in line):
            parts[-1] += (" " if prose else "\n") + line
        else:
            parts.append(line)
    return "\n\n".join(parts) + "\n"


def _write(folder: Path) -> None:
    for name, one in _documents():
        (folder / f"{name}.txt").write_text(_text(one), encoding="utf-8")


def _questions(kb: KnowledgeBase) -> Sequence[Asked]:
    stored = by_file_name(kb)
    asked: list[Asked] = []
    missing: list[str] = []
    for name, one in _documents():
        fact = stored[name]
        text = text_of(kb, fact)
        for number, each in enumerate(one.asked, 1):
            if each.sign != "?":
                continue
            spans = [find_quote(text, one.sentences[at]) for at in each.held]
            missing += [each.text for span in spans if span is None]
            gold = [Gold(document_id=fact.id, span=span, within=span) for span in spans if span]
            asked.append(
                Asked(
                    id=f"{name}<::>{number}",
                    text=each.text,
                    group="answerable" if each.held else "unanswerable",
                    gold=tuple(gold),
                    filters=Filters(document_ids=(fact.id,)),
                )
            )
    missing_gold("far", missing)
    return asked


FAR_WORDED = AskedSet(
    name="far", about="our own documents, asked in other words", write=_write, questions=_questions
)
