"""Follow-ups as they are really asked: through recorded sessions, then searched.

    python -m benchmarks.sessions

Each conversation is asked turn by turn in a session of an empty home: every question goes through
``conversation.opened``, and an answer is recorded with the words that the set gives for it. What
``resolve_follow_up`` makes of a question is then searched, with the earlier question that it names
beside it.

CANARD (dev): the passages are the answers of all its conversations, under the title of their
article, each a document of its own; the one relevant passage of a question is its own answer. So
all three are measured on the same search: the question as asked, as rewritten here, and as people
rewrote it. Opening questions have no session to lean on and are left out; so are those without an
answer, and the last of a conversation, whose answer the set does not give. The first answer cites
a page with the article's title.

MTRAG-UN dev: judged passages. People's rewrites of MTRAG belong to other conversations, whose
passages are not there; "all turns" stands in their place.

A hash of the conversation puts it into half ``a``, which the rules were tuned on, or ``b``.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import anyio

from benchmarks.followups import HALVES, NOTHING_KNOWN, half_of
from benchmarks.homes import Item, by_url, filled, item_url, write_items
from benchmarks.paths import eval_data
from benchmarks.record import save
from benchmarks.sets.items import MTRAG
from benchmarks.sets.reading import read_lines
from wellread.ask.retrieve.search import search
from wellread.ask.understand.conversation import resolve_follow_up
from wellread.evaluation.scores import Interval, bootstrap, paired_difference
from wellread.identity import document_id, tagged_hash, version_of
from wellread.kb import KnowledgeBase, open_kb
from wellread.store.schema.stored_values import DocumentChange, SourceChange, SourceRecord
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Document, Filters, Locator, Span
from wellread.values.answers import Answer, Citation, Confidence, Question, VerdictName

DEPTH = 20
WIKI = "wiki"
NO_ANSWER = "I don't know."
EVERY = 4  # of CANARD's conversations one is asked
RUNS = {
    "last": "last turn alone",
    "ours": "as rewritten here",
    "human": "as people rewrote it",
    "all": "all turns",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A question with its answer, and what a person made of the question."""

    key: str
    asked: str
    human: str
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Understood:
    """What is searched for a question, and whether its words were changed."""

    search: str
    changed: bool


def main() -> None:
    """Measure, print a table and write the result file."""
    figures = {"canard": canard(), "mtrag": mtrag()}
    print("\n".join(table(figures)))
    print(save("sessions", figures))


# --- CANARD ----------------------------------------------------------------------------------


def talks() -> Iterator[tuple[str, str, list[Turn]]]:
    """Conversation, title of its article, and its turns."""
    rows = json.loads(eval_data("canard", "dev.json").read_text(encoding="utf-8"))
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        found[row["QuAC_dialog_id"]].append(row)
    for known, turns in found.items():
        turns.sort(key=lambda row: len(row["History"]))
        answers = {len(row["History"]) - 2: row["History"][-1] for row in turns}
        told = [
            Turn(
                key=f"{known}-{number}",
                asked=row["Question"],
                human=row["Rewrite"],
                answer=answers.get(len(row["History"]), NO_ANSWER),
            )
            for number, row in enumerate(turns)
            if len(row["History"]) == 2 + 2 * number
        ]
        yield known, turns[0]["History"][0], told


def _write_canard(folder: Path) -> None:
    items = (
        Item(key=turn.key, title=title, text=turn.answer)
        for _, title, turns in talks()
        for turn in turns
        if turn.answer != NO_ANSWER
    )
    write_items(folder / "canard.jsonl", "canard", items)


def canard() -> dict[str, Any]:
    """Figures by half."""
    scores: dict[str, dict[str, list[float]]] = {half: defaultdict(list) for half in HALVES}
    changed: dict[str, list[float]] = {half: [] for half in HALVES}
    with filled("canard", _write_canard) as kb, sessions() as talk:
        ids = {url: facts.id for url, facts in by_url(kb).items()}
        for known, title, turns in talks():
            if not _chosen(known):
                continue
            read = anyio.run(asked, talk, [(one.asked, one.answer) for one in turns], title)
            for one, made in zip(turns[1:], read[1:], strict=True):
                if one.answer == NO_ANSWER:
                    continue
                half = half_of(known)
                gold = {ids[item_url("canard", one.key)]: 1.0}
                changed[half].append(float(made.changed))
                texts = {"last": one.asked, "ours": made.search, "human": one.human}
                _score(kb, gold, texts, scores[half])
    return {half: _figures(scores[half], changed[half]) for half in HALVES}


def _chosen(conversation: str) -> bool:
    return int(hashlib.sha256(f"asked {conversation}".encode()).hexdigest(), 16) % EVERY == 0


# --- MTRAG-UN --------------------------------------------------------------------------------


def mtrag() -> dict[str, Any]:
    """Figures by half."""
    scores: dict[str, dict[str, list[float]]] = {half: defaultdict(list) for half in HALVES}
    changed: dict[str, list[float]] = {half: [] for half in HALVES}
    with filled(MTRAG.name, MTRAG.write) as kb, sessions() as talk:
        queries = {query.id: query for query in MTRAG.queries(kb)}
        for row in read_lines(eval_data("mtrag_un", "reference.jsonl")):
            query, said = queries.get(row["task_id"]), row["input"]
            if query is None or len(said) < 3:
                continue
            turns = [
                (said[place]["text"], said[place + 1]["text"] if place + 1 < len(said) else "")
                for place in range(0, len(said), 2)
            ]
            made = anyio.run(asked, talk, turns, "")[-1]
            half = half_of(row["conversation_id"])
            changed[half].append(float(made.changed))
            texts = {"last": turns[-1][0], "ours": made.search, "all": query.text}
            _score(kb, query.grades, texts, scores[half])
    return {half: _figures(scores[half], changed[half]) for half in HALVES}


# --- sessions --------------------------------------------------------------------------------


@contextmanager
def sessions() -> Iterator[KnowledgeBase]:
    """An empty home in which conversations are asked."""
    with (
        tempfile.TemporaryDirectory() as folder,
        open_kb(Path(folder), embedder=ReadableEmbedder()) as kb,
    ):
        yield kb


async def asked(
    kb: KnowledgeBase, turns: Sequence[tuple[str, str]], title: str
) -> list[Understood]:
    """Each question of a conversation as it is understood in its session."""
    session = ""
    found = []
    if title:  # what is cited has to be there
        kb.catalogue.commit([_page(title)])
    for number, (text, said) in enumerate(turns):
        read = await resolve_follow_up(kb, Question(text=text, session_id=session), NOTHING_KNOWN)
        session = read.question.session_id
        meant = read.question.text
        searched = f"{meant}\n{read.context}" if read.context else meant
        found.append(Understood(search=searched, changed=meant != text))
        given = _answer(session, number, said, title)
        standalone = meant if meant != text else ""
        kb.catalogue.record_answer(replace(given, question=text, standalone=standalone))
    return found


def _answer(session: str, number: int, said: str, title: str) -> Answer:
    known = bool(said) and said != NO_ANSWER
    return Answer(
        id=tagged_hash("ans", session, number),
        question="",
        text=said if known else "The sources do not answer this question.",
        citations=(_cited(title),) if known and title else (),
        sentences=(),
        confidence=Confidence(score=0.5, band="medium", reasoning=""),
        answered_by="extractive" if known else "none",
        session_id=session,
    )


def _page(title: str) -> SourceChange:
    document = Document(collection=WIKI, uri=title, kind="page", title=title, text=title)
    return SourceChange(
        record=SourceRecord(collection=WIKI, uri=title),
        documents=[DocumentChange(document=document, passages=[])],
    )


def _cited(title: str) -> Citation:
    whole = Span(start=0, end=len(title))
    return Citation(
        id=1,
        document_id=document_id(WIKI, title),
        version=version_of(title, ()),
        title=title,
        url="",
        link="",
        kind="page",
        source_type="",
        published_at=None,
        relevance=1.0,
        locator=Locator(label=""),
        quote=title,
        answer_span=Span(start=0, end=0),
        source_span=whole,
        verdict=VerdictName.SUPPORTED,
    )


# --- figures ---------------------------------------------------------------------------------


def _score(
    kb: KnowledgeBase,
    grades: Mapping[str, float],
    texts: Mapping[str, str],
    scores: dict[str, list[float]],
) -> None:
    found = {}
    for text in set(texts.values()):
        seen = dict.fromkeys(hit.document.id for hit in search(kb, text, Filters(), limit=DEPTH))
        ranked = [frozenset({document}) for document in seen]
        found[text] = float(MTRAG.measures["ndcg@10"](ranked, grades))
    for run, text in texts.items():
        scores[run].append(found[text])


def _figures(scores: Mapping[str, Sequence[float]], changed: Sequence[float]) -> dict[str, Any]:
    return {
        "n": len(changed),
        "changed": asdict(bootstrap(changed)),
        "ndcg@10": {run: asdict(bootstrap(found)) for run, found in scores.items()},
        "more than the last turn": {
            run: asdict(paired_difference(found, scores["last"]))
            for run, found in scores.items()
            if run != "last"
        },
    }


def table(figures: Mapping[str, Any]) -> list[str]:
    """The figures as Markdown lines."""
    sets = [
        (f"{name}, half {half}", figures[name.split("-")[0].lower()][half])
        for name in ("CANARD", "MTRAG-UN")
        for half in HALVES
    ]
    lines = [
        "| nDCG@10 | " + " | ".join(f"{name} (n = {one['n']:,})" for name, one in sets) + " |",
        "|---|" + "---:|" * len(sets),
    ]
    for run, name in RUNS.items():
        cells = [_cell(one, run) for _, one in sets]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    rewritten = ", ".join(f"{name} {Interval(**one['changed'])}" for name, one in sets)
    return [*lines, "", f"Share of questions whose words were changed: {rewritten}."]


def _cell(one: Mapping[str, Any], run: str) -> str:
    if run not in one["ndcg@10"]:
        return "not measurable"
    cell = str(Interval(**one["ndcg@10"][run]))
    more = one["more than the last turn"].get(run)
    if more is None:
        return cell
    return f"{cell}; {more['mean']:+.3f} [{more['low']:+.3f}, {more['high']:+.3f}]"


if __name__ == "__main__":
    main()
