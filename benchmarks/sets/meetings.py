"""Retrieval over what was said and reported: QMSum meetings, Optech newsletters and recaps."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from benchmarks.homes import by_file_name
from benchmarks.paths import eval_data
from benchmarks.sets.judged import PLACE, JudgedSet, Place, Query, at
from benchmarks.sets.reading import Record, read_lines
from wellread.kb import KnowledgeBase
from wellread.types import DocumentFacts, HeadingMark, Mark, Span, SpeakerMark

_WORD = re.compile(r"[^\W_]+")


# --- QMSum -----------------------------------------------------------------------------------


def _meetings() -> list[Record]:
    return read_lines(eval_data("qmsum", "val.jsonl"))


def _write_qmsum(folder: Path) -> None:
    for number, meeting in enumerate(_meetings()):
        turns = [_turn(turn) for turn in meeting["meeting_transcripts"]]
        path = folder / f"meeting-{number:02}.md"
        path.write_text(f"# Meeting {number}\n\n" + "\n".join(turns), encoding="utf-8")


def _turn(turn: Record) -> str:
    # "Hon. Bill Blair (Minister of ...)": the turn loader takes names without brackets.
    speaker = turn["speaker"].partition(" (")[0]
    return f"**{speaker}**: {' '.join(turn['content'].split()) or '...'}\n"


def _qmsum_queries(kb: KnowledgeBase) -> Sequence[Query]:
    facts = by_file_name(kb)
    queries = []
    for number, meeting in enumerate(_meetings()):
        fact = facts[f"meeting-{number:02}"]
        turns = [mark for mark in _marks(kb, fact) if isinstance(mark, SpeakerMark)]
        if len(turns) != len(meeting["meeting_transcripts"]):
            raise SystemExit(
                f"qmsum: meeting {number} has {len(meeting['meeting_transcripts'])} turns, "
                f"{len(turns)} are stored; gold turns cannot be found"
            )
        for place, asked in enumerate(meeting["specific_query_list"]):
            spans: dict[str, Place] = {}
            for first, last in asked["relevant_text_span"]:
                # The set's last index may lie behind the last turn.
                end = turns[min(int(last), len(turns) - 1)].end
                spans[f"{first}-{last}"] = (fact.id, Span(start=turns[int(first)].start, end=end))
            queries.append(
                Query(
                    id=f"{number}/{place}",
                    text=asked["query"],
                    grades=dict.fromkeys(spans, 1.0),
                    spans=spans,
                )
            )
    return queries


# --- Bitcoin Optech --------------------------------------------------------------------------


def newsletters() -> Path:
    """The folder of Optech's newsletters."""
    return eval_data("bitcoin_optech", "_posts", "en", "newsletters")


def _write_newsletters(folder: Path) -> None:
    shutil.copytree(newsletters(), folder, dirs_exist_ok=True)


def _write_recaps(folder: Path) -> None:
    source = eval_data("bitcoin_optech", "_posts", "en", "podcast")
    shutil.copytree(source, folder, dirs_exist_ok=True)


def _mention_queries(kb: KnowledgeBase) -> Sequence[Query]:
    facts = by_file_name(kb)
    rows = read_lines(eval_data("bitcoin_optech", "derived", "mentions.jsonl"))
    return [
        Query(id=str(number), text=row["query"], grades={facts[Path(row["doc"]).stem].id: 1.0})
        for number, row in enumerate(rows)
    ]


def _item_queries(kb: KnowledgeBase) -> Sequence[Query]:
    facts = by_file_name(kb)
    segments = {name: _segments(kb, fact) for name, fact in facts.items()}
    rows = read_lines(eval_data("bitcoin_optech", "derived", "items_timestamps.jsonl"))
    queries = []
    for number, row in enumerate(rows):
        name = Path(row["podcast"]).stem
        fact = facts[name]
        span = segments[name].get(_plain(row["segment"] or row["title"]))
        queries.append(
            Query(
                id=str(number),
                text=row["title"],
                grades={fact.id: 1.0},
                place=(fact.id, span) if span else None,
            )
        )
    return queries


def _segments(kb: KnowledgeBase, fact: DocumentFacts) -> dict[str, Span]:
    """The last heading of each path, in plain words, to the text under it."""
    return {
        _plain(mark.path[-1]): Span(start=mark.start, end=mark.end)
        for mark in _marks(kb, fact)
        if isinstance(mark, HeadingMark)
    }


def _marks(kb: KnowledgeBase, fact: DocumentFacts) -> tuple[Mark, ...]:
    return kb.catalogue.marks([fact.id])[fact.id]


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))


QMSUM = JudgedSet(
    name="qmsum",
    about="QMSum val: 237 specific queries → gold turns, 35 meetings together",
    write=_write_qmsum,
    queries=_qmsum_queries,
    measures=at(1, "hit") | at(5, "hit"),
)
MENTIONS = JudgedSet(
    name="mentions",
    about="Optech: 2,205 expert one-line descriptions → newsletter among 335",
    write=_write_newsletters,
    queries=_mention_queries,
    measures=at(1, "hit") | at(10, "hit"),
)
ITEMS = JudgedSet(
    name="items",
    about="Optech: 1,610 item titles → recap episode among 128, and the segment in it",
    write=_write_recaps,
    queries=_item_queries,
    measures=at(1, "hit") | at(10, "hit") | {PLACE: lambda _ranking, _grades: 0.0},
)
