"""A ledger of 10,000 answers: how long the pages take that list answers, gaps and figures.

    python -m benchmarks.ledger

Sixty questions of the sample's evaluation set are answered for real; the answers are recorded again
and again through ``Catalogue.record_answer``, each with an id, a moment, a session and seconds of
its own, over a year. Half of them get feedback with a rating of each sentence, 1,000 gaps are filed
and 20,000 calls written down. ``wellread serve`` runs in a process of its own; each address is read
once to warm it and then ``--rounds`` times; and as often right after something was recorded, so
that nothing that was worked out before holds. What the server took of the processor then stands
beside the clock: it tells what a machine would take that has nothing else to do. The ratio is to
the same address over a hundredth of the ledger, read in turn with it, so that what else the machine
does falls on both.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any

import anyio
import httpx
import time_machine

from benchmarks.record import save
from wellread.ask.answer import answer, final
from wellread.identity import sentence_hash, tagged_hash
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.store.schema.stored_values import Feedback, SentenceRating
from wellread.values.answers import Answer, Question
from wellread.values.calls import Call

ANSWERS, GAPS, CALLS = 10_000, 1_000, 20_000
QUESTIONS = 60
DAYS = 365
LIMIT = 200  # milliseconds
PROGRAM = (sys.executable, "-m", "wellread.serve.cli")
ADDRESSES = (
    "/figures",
    "/figures?period=all",
    "/api/metrics",
    "/api/metrics?period=all",
    "/metrics",
    "/conversations",
    "/conversations?query=ferry",
    "/usage",
    "/api/usage",
    "/api/answers",
    "/api/answers?offset=9000",
    "/api/sessions",
    "/gaps",
    "/api/gaps",
    "/feedback",
    "/api/feedback",
    "/coverage",
    "/api/coverage",
)


def main() -> None:
    """Make both ledgers, read every address of both, write ``results/ledger.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--answers", type=int, default=ANSWERS)
    parser.add_argument("--rounds", type=int, default=21)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        large, small = Path(folder) / "large", Path(folder) / "small"
        seconds = fill(large, arguments.answers)
        fill(small, arguments.answers // 100)
        with served(large) as whole, served(small) as part, open_kb(large) as kb:
            rows = [
                row for at in ADDRESSES if (row := measured(whole, part, kb, at, arguments.rounds))
            ]
        size = sum(path.stat().st_size for path in large.glob("catalogue.db*"))
    figures = {
        "answers": arguments.answers,
        "record_ms": round(seconds / arguments.answers * 1000, 2),
        "catalogue_mb": round(size / 1e6, 1),
        "rows": rows,
    }
    save("ledger", figures)
    print("\n".join(table(figures)))


def table(figures: Mapping[str, Any]) -> list[str]:
    """The figures as Markdown."""
    return [
        f"{figures['answers']:,} answers, {figures['catalogue_mb']} MB of catalogue; one answer is "
        f"recorded in {figures['record_ms']} ms.",
        "",
        "| address | median, ms | slowest, ms | after a change, ms | of the processor, ms | "
        f"to a hundredth | under {LIMIT} ms |",
        "|---|---|---|---|---|---|---|",
        *(
            f"| `{row['address']}` | {row['median']:.1f} | {row['slowest']:.1f} | "
            f"{row['changed']:.1f} | {row['processor']:.1f} | ×{row['ratio']:.1f} | "
            f"{'yes' if row['median'] < LIMIT else '**no**'} |"
            for row in figures["rows"]
        ),
    ]


def fill(home: Path, count: int) -> float:
    """Make the home with ``count`` answers; the seconds that recording them took."""
    draw = random.Random(7)
    with open_kb(home) as kb:
        add(kb, [str(files("wellread") / "sample")], collection="sample")
        asked = anyio.run(answers_of, kb)
        now = datetime.now(UTC)
        seconds = 0.0
        moments = sorted(now - timedelta(days=draw.random() * DAYS) for _ in range(count))
        for number, moment in enumerate(moments):
            given = varied(draw.choice(asked), number, draw)
            with time_machine.travel(moment, tick=False):
                begun = time.perf_counter_ns()
                kb.catalogue.record_answer(given)
                seconds += (time.perf_counter_ns() - begun) / 1e9
            if number % 2 == 0:
                kb.catalogue.feedback.put(rating(given, moment, draw))
            if number % (ANSWERS // GAPS) == 0:
                kb.catalogue.record_gap(f"{given.question} ({number})", "no source says it")
        for number in range(count * CALLS // ANSWERS):
            model = draw.choice(("gpt-4o-mini", "claude-sonnet", "text-embedding-3-small"))
            with time_machine.travel(draw.choice(moments), tick=False):
                kb.catalogue.calls.record(
                    Call(
                        purpose=draw.choice(("answer", "judge", "plan")),
                        provider="openai",
                        model=model,
                        input_tokens=draw.randrange(9_000),
                        output_tokens=draw.randrange(900),
                        cost=draw.random() / 100,
                        seconds=draw.random() * 9,
                        error="answered 503" if number % 100 == 0 else "",
                    )
                )
    return seconds


async def answers_of(kb: KnowledgeBase) -> list[Answer]:
    """The sample's questions, answered."""
    lines = (files("wellread") / "sample" / "evaluation.jsonl").read_text().splitlines()
    questions = [json.loads(line)["question"] for line in lines][:QUESTIONS]
    return [
        await final(answer(kb, Question(text=text, recorded=False, fresh=True)))
        for text in questions
    ]


def varied(given: Answer, number: int, draw: random.Random) -> Answer:
    """The answer as one to another question, given at another time."""
    sure = draw.betavariate(4, 2)
    steps = tuple(
        replace(step, seconds=step.seconds * draw.lognormvariate(0, 0.5)) for step in given.steps
    )
    confidence = given.confidence
    if confidence.band != "none":
        confidence = replace(confidence, score=round(sure, 3))
    return replace(
        given,
        id=tagged_hash("ans", given.id, number),
        question=f"{given.question} {number}",
        session_id=f"ses_{number // 3}",
        confidence=confidence,
        rewritten=number % 3 > 0,
        cached=draw.random() < 0.1,
        steps=steps,
    )


def rating(given: Answer, moment: datetime, draw: random.Random) -> Feedback:
    """What an expert says of it: surer answers are more often right."""
    right = draw.random() < given.confidence.score
    score = float(draw.randrange(60, 101) if right else draw.randrange(50))
    sentences = tuple(
        SentenceRating(sentence=place, content=sentence_hash(one.text), score=score)
        for place, one in enumerate(given.sentences[:4])
    )
    return Feedback(
        id=tagged_hash("fbk", given.id),
        answer_id=given.id,
        author=draw.choice(("ada", "ben", "cleo")),
        question=given.question,
        created_at=moment,
        updated_at=moment,
        score=score,
        sentences=sentences,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A server, and a client that reads from it."""

    process: int
    client: httpx.Client

    def processor(self) -> float:
        """Milliseconds of the processor that the server took until now."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") * 1000

    def milliseconds(self, address: str) -> float:
        """How long one reading takes."""
        plain = address.startswith(("/api/", "/metrics"))
        begun = time.perf_counter()
        reply = self.client.get(address, headers={} if plain else {"accept": "text/html"})
        reply.raise_for_status()
        return (time.perf_counter() - begun) * 1000


@contextmanager
def served(home: Path, start: Sequence[str] = PROGRAM) -> Iterator[Served]:
    """``wellread serve`` over ``home``; ``start`` is the program."""
    command = [*start, "--home", str(home), "serve"]
    process = subprocess.Popen([*command, "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline() if process.stdout else ""
        found = re.search(r"http://\S+", line)
        if found is None:
            raise SystemExit(f"the server said {line!r}")
        with httpx.Client(base_url=found.group(), timeout=60) as client:
            yield Served(process=process.pid, client=client)
    finally:
        process.terminate()
        process.wait(timeout=30)
        if process.stdout:
            process.stdout.close()


def measured(
    whole: Served, part: Served, kb: KnowledgeBase, address: str, rounds: int
) -> dict[str, Any] | None:
    """The milliseconds of an address over both ledgers; None where there is no such page."""
    if whole.client.get(address).status_code == 404:
        print(f"{address}: not there", flush=True)
        return None
    part.milliseconds(address)
    pairs = [(whole.milliseconds(address), part.milliseconds(address)) for _ in range(rounds)]
    large, small = zip(*pairs, strict=True)
    median = statistics.median(large)
    changed, begun = [], whole.processor()
    for _ in range(rounds):
        kb.catalogue.calls.record(Call(purpose="answer", provider="openai", model="gpt-4o-mini"))
        changed.append(whole.milliseconds(address))
    row = {
        "address": address,
        "median": round(median, 2),
        "slowest": round(max(large), 2),
        "changed": round(statistics.median(changed), 2),
        "processor": round((whole.processor() - begun) / rounds, 2),
        "ratio": round(median / statistics.median(small), 2),
    }
    print(row, flush=True)
    return row


if __name__ == "__main__":
    main()
