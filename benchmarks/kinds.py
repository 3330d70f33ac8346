"""Questions for a number, a date, a person, a place, a list, two sides, causes, steps and times.

    python -m benchmarks.kinds --part dev --show
    python -m benchmarks.kinds --homes sample=/tmp/a,optech=/tmp/b,s3=/tmp/c,papers=/tmp/d

Asked is what stands in ``questions/kinds.jsonl``: each row names its base, the kind of answer, the
turns of its conversation, and either phrases that the answer has to hold (``a|b`` is one of the
two) or that the material does not say it. An answer is right when it holds all of them and none
of the row's ``never``; where the material does not say it, when it is less sure than .5. The part
``aside`` was kept from those who wrote the rules. The clock stands at one day.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import time_machine

from benchmarks.golden import SETS
from benchmarks.homes import filled
from benchmarks.paths import eval_data
from benchmarks.record import save
from wellread.ask.answer import answer, final
from wellread.kb import KnowledgeBase, open_kb
from wellread.values.answers import Answer, Question

QUESTIONS = Path(__file__).parent / "questions" / "kinds.jsonl"
TODAY = datetime(2026, 1, 15, 12, tzinfo=UTC)
SURE = 0.5
BASES = {"sample": "sample", "optech": "optech", "s3": "labelled-s3"}


def main() -> None:
    """Ask the questions, print the share of right answers for each kind, and keep it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--part", default="dev", choices=("dev", "aside"))
    parser.add_argument("--bases", default="sample,optech,s3,papers")
    parser.add_argument("--homes", default="", help="NAME=FOLDER of filled homes, with commas")
    parser.add_argument("--show", action="store_true", help="print the wrong answers")
    parser.add_argument("--no-record", action="store_true")
    options = parser.parse_args()
    homes = dict(each.split("=") for each in options.homes.split(",") if each)
    rows = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    right: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    with time_machine.travel(TODAY, tick=True):
        for base in options.bases.split(","):
            mine = [row for row in rows if row["base"] == base and row["part"] == options.part]
            with ExitStack() as stack:
                kb = _opened(base, homes, stack)
                for row, given in asyncio.run(_ask(kb, mine)):
                    good = is_right(row, given)
                    for name in (row["kind"], base, "all"):
                        asked[name] += 1
                        right[name] += good
                    if options.show and not good:
                        print(f"\n{base} {row['kind']}: {' || '.join(row['turns'])}")
                        print(
                            f"  wanted {row.get('gold', 'nothing')}; {given.confidence.score:.2f}"
                        )
                        print("  " + given.text[:700].replace("\n", "\n  "))
    shares = {name: round(right[name] / asked[name], 3) for name in sorted(asked)}
    for name, share in shares.items():
        print(f"{name:12} {share:.3f} of {asked[name]}")
    if not options.no_record:
        save(f"kinds-{options.part}", {"right": shares, "asked": dict(asked)})


def is_right(row: dict[str, Any], given: Answer) -> bool:
    """Whether the answer holds the gold, or is not sure of what the material does not say."""
    if "gold" not in row:
        return given.confidence.score < SURE
    text = " ".join(" ".join((given.text, *given.notes)).casefold().split())
    held = all(any(one.casefold() in text for one in each.split("|")) for each in row["gold"])
    return held and not any(each.casefold() in text for each in row.get("never", ()))


async def _ask(
    kb: KnowledgeBase, rows: list[dict[str, Any]]
) -> list[tuple[dict[str, Any], Answer]]:
    done = []
    for row in rows:
        session = ""
        for turn in row["turns"]:
            given = await final(answer(kb, Question(text=turn, session_id=session, fresh=True)))
            session = given.session_id
        done.append((row, given))
    return done


def _opened(base: str, homes: dict[str, str], stack: ExitStack) -> KnowledgeBase:
    if base in homes:
        return stack.enter_context(open_kb(Path(homes[base])))
    if base == "papers":
        folder = eval_data("aragog") / "pdf"
        names = ("bert", "roberta", "distilbert", "llama", "codenet", "superglue")

        def write(to: Path) -> None:
            for name in names:
                (to / f"{name}.pdf").write_bytes((folder / f"{name}.pdf").read_bytes())

        return stack.enter_context(filled("papers", write))
    return SETS[BASES[base]].open(stack)


if __name__ == "__main__":
    main()
