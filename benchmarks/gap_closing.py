"""Do gaps close by themselves when the material comes, and only then?

    python -m benchmarks.gap_closing [--show]

Bitcoin Optech's newsletters to 2022 are taken in; those of 2023 and 2024 are held back. Questions
are asked that only those can answer, until fifty are filed as gaps (one that gets an answer from
the old newsletters is none), and twenty that neither half answers. Then the newsletters are added
as anybody adds them, and the job that follows every run of ingest asks again what it thinks it can.
A gap is closed rightly when the newsletter that the question was made of is cited; for a new name,
any held-back newsletter that tells of it.

Wording, the same on every run: each question holds a word or a number that no newsletter before
2023 has, and that the one it was made of has. Of each kind the first ones by a hash of their text
are taken:

- ``change``: a line of the topics index about a pull request: "What does LDK #2715 do?"
- ``name``: such a line that begins with a new name: "What is BitVM?"
- ``idea``: such a line that begins with a proposal, an idea or a discussion: "What is the proposal
  for ...?"
- ``asked``: a question of Bitcoin Stack Exchange that a newsletter tells of, as it was asked.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import hashlib
import json
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.homes import default_embedder, filled
from benchmarks.paths import eval_data
from benchmarks.record import save
from benchmarks.sets.reading import read_lines
from wellread.ask.answer import answer, final
from wellread.ingest import run
from wellread.kb import KnowledgeBase, open_kb
from wellread.learning.asking_again import RetryReport, add, ask_again, screen_gaps
from wellread.learning.gap_clusters import clusters_of
from wellread.serve.features import gaps_and_coverage
from wellread.store.schema.stored_values import Gap
from wellread.values.answers import Answer, Question

HELD_BACK = "2023"
MANY = 5_000
GAPS = 50
WANTED = {"change": 18, "name": 9, "idea": 13, "asked": 24}  # at most; in the order of the hashes
_WORD = re.compile(r"[A-Za-z][\w-]{3,}")
_CHANGE = re.compile(r"^([A-Z][\w ]*?) #(\d+)\b")
_NAME = re.compile(r"^([\w-]*[A-Z0-9_][\w-]*[A-Z0-9_][\w-]*)(?::| added| adds)")
_IDEA = re.compile(r"^(?:Proposals?|Ideas?|Discussion)\b.*?\b(?:for|about|of|to)\b")
NEITHER = (
    "Who won the football World Cup in 2018?",
    "What is the capital of Mongolia?",
    "How do I bake sourdough bread without a starter?",
    "What did the mayor of Reykjavik say about mining farms?",
    "Which company insures the cold storage of the Winklevoss twins?",
    "How many Dogecoin are burnt each year?",
    "What is the staking yield of Cardano?",
    "Who audited the smart contracts of Uniswap v4?",
    "What is the Solana validator hardware requirement?",
    "How does Monero's RingCT hide amounts from Chainalysis?",
    "What does the MiCA regulation say about stablecoin reserves?",
    "What is the tax on bitcoin gains in Portugal?",
    "How much electricity does the Antminer S21 Hydro use?",
    "What was the closing price of bitcoin on 14 March 2024?",
    "Who is the chief executive of Coinbase Custody?",
    "When did El Salvador open its volcano bonds to investors?",
    "What is the Hedera gossip protocol's finality time?",
    "How does the Polkadot parachain auction choose a winner?",
    "What does LND #99123 do?",
    "What is the BIP9431 proposal for pigeon relay?",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question; ``doc``: the held-back newsletter that answers it, empty when none does."""

    question: str
    kind: str
    doc: str = ""


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What became of a question."""

    question: str
    kind: str
    doc: str
    filed: str = ""
    first: str = ""
    closed: bool = False
    right: bool = False
    why: str = ""
    again: str = ""
    cited: tuple[str, ...] = ()


def main() -> None:
    """Ask, add, ask again; print, and write ``results/gap_closing.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--show", action="store_true", help="print every question")
    parser.add_argument("--keep", type=Path, help="a folder for the home, to look at it afterwards")
    parser.add_argument("--many", type=Path, help="a home that was kept: time 5,000 gaps in a copy")
    asked = parser.parse_args()
    if asked.many:
        with tempfile.TemporaryDirectory() as temporary:
            shutil.copytree(asked.many, Path(temporary) / "home")
            with open_kb(Path(temporary) / "home", embedder=default_embedder()) as kb:
                figures = many(kb, Path(temporary))
        save("gap_closing_many", figures)
        print(json.dumps(figures, indent=1))
        return
    with filled("gap-closing", _before) as kept, tempfile.TemporaryDirectory() as temporary:
        home = asked.keep or Path(temporary) / "home"
        kept.close()
        shutil.copytree(kept.home, home)
        with open_kb(home, embedder=default_embedder()) as kb:
            figures, outcomes = measure(kb, Path(temporary) / "later")
    save("gap_closing", figures | {"questions": [asdict(one) for one in outcomes]})
    if asked.show:
        for one in outcomes:
            print(json.dumps(asdict(one), ensure_ascii=False))
    print(json.dumps(figures, indent=1))


def answered_later() -> list[Asked]:
    """The questions that may be asked, in order."""
    old: set[str] = set()
    numbers: set[str] = set()
    for path in _newsletters():
        if path.name < HELD_BACK:
            text = path.read_text(encoding="utf-8")
            old |= {word.lower() for word in _WORD.findall(text)}
            numbers |= set(re.findall(r"\d+", text))
    found: list[Asked] = []
    for one in sorted(_made(numbers), key=lambda one: _hash(one.question)):
        alike = [each.question for each in found if each.kind == one.kind]
        wanted = len(alike) < WANTED[one.kind] and one.question not in alike
        if wanted and _is_new(one, old):
            found.append(one)
    return found


def _is_new(one: Asked, old: set[str]) -> bool:
    """Whether it has a word that no earlier newsletter has, and its own has all of these."""
    if one.kind == "change":
        return True
    words = {word.lower() for word in _WORD.findall(one.question)}
    new = {word for word in words if word not in old and word.rstrip("s") not in old}
    path = eval_data("bitcoin_optech", "_posts", "en", "newsletters", one.doc)
    return bool(new) and all(word in path.read_text(encoding="utf-8").lower() for word in new)


def _made(numbers: set[str]) -> Iterator[Asked]:
    for row in read_lines(eval_data("bitcoin_optech", "derived", "mentions.jsonl")):
        said, doc = row["query"], row["doc"].rpartition("/")[2]
        if doc < HELD_BACK:
            continue
        if change := _CHANGE.match(said):
            if change[2] not in numbers:
                yield Asked(question=f"What does {change[0]} do?", kind="change", doc=doc)
        elif name := _NAME.match(said):
            yield Asked(question=f"What is {name[1]}?", kind="name", doc=doc)
        elif _IDEA.match(said):
            told = said[0].lower() + said[1:].rstrip(".")
            yield Asked(question=f"What is the {told}?", kind="idea", doc=doc)
    for row in read_lines(eval_data("bitcoin_optech", "derived", "qa.jsonl")):
        doc = row["doc"].rpartition("/")[2]
        if doc >= HELD_BACK and row["question"].endswith("?"):
            yield Asked(question=row["question"], kind="asked", doc=doc)


def measure(kb: KnowledgeBase, later: Path) -> tuple[dict[str, Any], list[Outcome]]:
    """Ask, add what was held back, and see what closed."""
    outcomes: dict[str, Outcome] = {}
    neither = [Asked(question=one, kind="neither") for one in NEITHER]
    for one in (*neither, *answered_later()):
        if sum(bool(each.doc and each.filed) for each in outcomes.values()) == GAPS:
            break
        made = Outcome(question=one.question, kind=one.kind, doc=one.doc)
        made.first = asyncio.run(_ask(kb, one.question)).text
        made.filed = {gap.question: gap.kind for gap in kb.catalogue.gaps()}.get(one.question, "")
        outcomes[one.question] = made
    later.mkdir()
    for path in _newsletters():
        if path.name >= HELD_BACK:
            shutil.copy(path, later)
    told: list[RetryReport] = []
    started = time.perf_counter()
    report = add(kb, [str(later)], on_reasked=told.append)
    while told and told[-1].waiting:  # what gaps.most cut off, as the next runs would
        told.append(ask_again(kb))
    seconds = time.perf_counter() - started
    for gap in kb.catalogue.gaps():
        _judge(kb, gap, outcomes[gap.question])
    return _figures(list(outcomes.values()), told, report.seconds, seconds), list(outcomes.values())


def many(kb: KnowledgeBase, folder: Path) -> dict[str, Any]:
    """What 5,000 open gaps cost: one file more, the clusters, the page.

    Two thousand are lines of the topics index, which are about the material; the others are
    questions that customers ask a bank.
    """
    mentions = read_lines(eval_data("bitcoin_optech", "derived", "mentions.jsonl"))
    lines = dict.fromkeys(f"What is {row['query']}?" for row in mentions)
    with eval_data("banking77", "train.csv").open(encoding="utf-8") as file:
        lines |= dict.fromkeys(row["text"] for row in csv.DictReader(file))
    for text in list(lines)[:MANY]:
        kb.catalogue.record_gap(text, "nothing was found")
    newest = folder / "2025-01-03-newsletter.md"
    shutil.copy(_newsletters()[-2], newest)  # the last one is the review of a year
    ledger = kb.catalogue.gap_ledger
    gaps = ledger.waiting()
    since = ledger.looked()
    report = run.add(kb, [str(newest)])
    seconds: dict[str, float] = {}
    arrived = ledger.documents_since(since)
    with _timed(seconds, "by the search"):
        wanted, _, left = screen_gaps(kb, gaps, arrived, kb.settings.gaps.most)
    for name in ("clusters, cold", "clusters, warm"):
        with _timed(seconds, name):
            clusters = clusters_of(kb)
    kb.catalogue.record_gap("What is a gap more?", "nothing was found")
    with _timed(seconds, "clusters, a gap more"):
        clusters_of(kb)
    for name in ("page of clusters, cold", "page of clusters, warm"):
        with _timed(seconds, name):
            gaps_and_coverage.gaps(kb, None, 20)
    return {
        "gaps": len(gaps),
        "new documents": len(arrived),
        "passages": report.passages,
        "seconds of ingest": round(report.seconds, 2),
        "to be asked": len(wanted),
        "left for the next time": left,
        "clusters": len(clusters),
        "seconds": seconds,
    }


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    seconds[name] = round(time.perf_counter() - started, 3)


def _judge(kb: KnowledgeBase, gap: Gap, outcome: Outcome) -> None:
    outcome.why = gap.tried
    outcome.closed = gap.status == "closed"
    closing = kb.catalogue.answer(gap.closed_by) if gap.closed_by else None
    if closing is not None:
        uris = {one.document_id: _uri(kb, one.document_id) for one in closing.citations}
        outcome.again = closing.text
        outcome.cited = tuple(dict.fromkeys(uris.values()))
        tell = _tell_of(outcome) if outcome.kind == "name" else {outcome.doc}
        outcome.right = bool(tell & set(outcome.cited))


def _tell_of(outcome: Outcome) -> set[str]:
    """The held-back newsletters that have the name that is asked for."""
    name = outcome.question.removeprefix("What is ").rstrip("?")
    later = (path for path in _newsletters() if path.name >= HELD_BACK)
    return {path.name for path in later if name in path.read_text(encoding="utf-8")}


def _uri(kb: KnowledgeBase, document_id: str) -> str:
    return kb.catalogue.facts([document_id])[document_id].uri.rpartition("/")[2]


def _figures(
    outcomes: Sequence[Outcome], told: Sequence[RetryReport], ingest: float, whole: float
) -> dict[str, Any]:
    later = [one for one in outcomes if one.doc]
    filed = [one for one in later if one.filed]
    neither = [one for one in outcomes if not one.doc]
    by_kind = {
        kind: f"{sum(one.right for one in filed if one.kind == kind)} of "
        f"{sum(one.kind == kind for one in filed)}"
        for kind in WANTED
    }
    return {
        "asked": len(later),
        "filed": len(filed),
        "filed as": Counter(one.filed for one in filed),
        "closed": sum(one.closed for one in filed),
        "closed with the right newsletter": sum(one.right for one in filed),
        "share": round(sum(one.right for one in filed) / max(1, len(filed)), 3),
        "by kind": by_kind,
        "closed with another newsletter": sum(one.closed and not one.right for one in filed),
        "neither: asked": len(neither),
        "neither: filed": sum(bool(one.filed) for one in neither),
        "neither: closed": sum(one.closed for one in neither),
        "asked again": sum(len(one.tried) for one in told),
        "seconds of ingest": round(ingest, 1),
        "seconds of asking again": round(whole - ingest, 1),
    }


async def _ask(kb: KnowledgeBase, question: str) -> Answer:
    return await final(answer(kb, Question(text=question)))


def _before(folder: Path) -> None:
    for path in _newsletters():
        if path.name < HELD_BACK:
            shutil.copy(path, folder)


def _newsletters() -> list[Path]:
    return sorted(eval_data("bitcoin_optech", "_posts", "en", "newsletters").glob("*.md"))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


if __name__ == "__main__":
    main()
