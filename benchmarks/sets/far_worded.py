"""Documents of our own with questions in other words than theirs, and near ones without answer.

No network was trained on them. Each is a plain text in one base, and what is asked of it is asked
in it alone, since people who look at a text do not name it. The questions share few words with the
sentence that answers, so that what is learned or measured here does not reward shared words.

``far`` are documents of ``far_worded/``, half of which teach the confidence; ``shelf`` are those of
``training/written`` that are kept from training, of more kinds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from training.written import FOLDER, Passage, passages

from benchmarks.homes import by_file_name, find_quote, text_of
from benchmarks.sets.asked import Asked, AskedSet, Gold, missing_gold
from wellread.kb import KnowledgeBase
from wellread.types import Filters

DOCUMENTS = Path(__file__).parent / "far_worded"
SHELF_NAMES = "docs-*"
_PROSE = re.compile(r"(?!- )(?!.* \| )(?!\w+(?: \w+)?: ).*[.!?…][\"'”’)]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    """A file of a base: its name, its title, its lines, and where it was made from."""

    name: str
    title: str
    lines: tuple[str, ...]
    passage: Passage


def _far() -> list[_Document]:
    """Their first sentence is their title."""
    return [
        _Document(name=f"{number:03}", title=one.sentences[0], lines=one.sentences[1:], passage=one)
        for number, one in enumerate(passages(DOCUMENTS), 1)
    ]


def _shelf() -> list[_Document]:
    """Their title is what kind of text they are."""
    kept = [one for one in passages(FOLDER, SHELF_NAMES) if one.held_out]
    return [
        _Document(
            name=f"{number:03}",
            title=f"{one.kind[:1].upper()}{one.kind[1:]}",
            lines=one.sentences,
            passage=one,
        )
        for number, one in enumerate(kept, 1)
    ]


def _text(one: _Document) -> str:
    """Its title, then its sentences: prose in paragraphs, all else in lines of its own."""
    parts = [one.title]
    for before, line in zip(("", *one.lines), one.lines, strict=False):
        prose = _PROSE.fullmatch(line) and _PROSE.fullmatch(before)
        listed = _PROSE.fullmatch(line) is None and " | " in before + line
        if prose or (listed and " | " in before and " | " in line):
            parts[-1] += (" " if prose else "\n") + line
        else:
            parts.append(line)
    return "\n\n".join(parts) + "\n"


def _written(documents: Callable[[], Sequence[_Document]]) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        for one in documents():
            (folder / f"{one.name}.txt").write_text(_text(one), encoding="utf-8")

    return write


def _asked(
    documents: Callable[[], Sequence[_Document]], name: str
) -> Callable[[KnowledgeBase], Sequence[Asked]]:
    def questions(kb: KnowledgeBase) -> Sequence[Asked]:
        stored = by_file_name(kb)
        asked: list[Asked] = []
        missing: list[str] = []
        for one in documents():
            fact = stored[one.name]
            text = text_of(kb, fact)
            for number, each in enumerate(one.passage.asked, 1):
                if each.sign != "?":
                    continue
                spans = [find_quote(text, one.passage.sentences[at]) for at in each.held]
                missing += [each.text for span in spans if span is None]
                gold = [Gold(document_id=fact.id, span=span, within=span) for span in spans if span]
                asked.append(
                    Asked(
                        id=f"{one.name}<::>{number}",
                        text=each.text,
                        group="answerable" if each.held else "unanswerable",
                        gold=tuple(gold),
                        filters=Filters(document_ids=(fact.id,)),
                    )
                )
        missing_gold(name, missing)
        return asked

    return questions


FAR_WORDED = AskedSet(
    name="far",
    about="our own documents, asked in other words",
    write=_written(_far),
    questions=_asked(_far, "far"),
)
SHELF = AskedSet(
    name="shelf",
    about="our own documents kept from training, asked in other words",
    write=_written(_shelf),
    questions=_asked(_shelf, "shelf"),
)
