"""Conflicts: are all answers shown where sources differ, and none claimed where they do not?

``python -m benchmarks.conflicts`` asks RAMDocs' questions of their own documents, and XQuAD's and
ClapNQ's answerable ones, where no conflict is right. Thresholds were chosen on RAMDocs' questions
of even number, whose failures were read; those of odd number are reported apart, but their totals
were seen on the way.
"""

from __future__ import annotations

import argparse
import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.extractive import sample
from benchmarks.homes import filled
from benchmarks.record import save
from benchmarks.sets import ramdocs
from benchmarks.sets.asked import AskedSet
from benchmarks.sets.reading import CLAPNQ, XQUAD
from wellread.ask.answer import answer, final
from wellread.evaluation.scores import bootstrap
from wellread.kb import KnowledgeBase
from wellread.types import Filters
from wellread.values.answers import NOBODY, Answer, Question

# The right passage is known to be among the documents; whether to answer is measured elsewhere.
ALWAYS: dict[str, dict[str, Any]] = {"qa": {"confidence_threshold": 0.0}}
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question of RAMDocs with what came out.

    Attributes:
        chosen_on: its number is even: thresholds were chosen on such.
        claimed: a conflict or several meanings are said.
        all_valid: every valid answer stands in a cited sentence of the answer.
        both_sides: so does what misinforming documents say.
    """

    group: str
    chosen_on: bool
    claimed: bool
    all_valid: bool
    both_sides: bool


def main() -> None:
    """Measure, print a table, write the result file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--limit", type=int, default=150, help="questions of XQuAD and ClapNQ")
    options = parser.parse_args()
    with ramdocs.home(ALWAYS) as kb:
        cases = asyncio.run(_run(kb))
    found = {
        "rows": _rows(cases),
        "alarms": [_alarms(each, options.limit) for each in (XQUAD, CLAPNQ)],
    }
    save("conflicts", found)
    print("\n".join(table(found)))


async def _run(kb: KnowledgeBase) -> list[Case]:
    cases = []
    for number, one in enumerate(ramdocs.asked()):
        filters = Filters(collections=(one.collection,))
        given = await final(answer(kb, Question(text=one.text, filters=filters, fresh=True)))
        told = () if given.answered_by == NOBODY else given.sentences
        cited = _plain(" ".join(each.text for each in told if each.citations))
        cases.append(
            Case(
                group=_group(one),
                chosen_on=number % 2 == 0,
                claimed=_claims(given),
                all_valid=all(_plain(each) in cited for each in one.valid),
                both_sides=all(_plain(each) in cited for each in (*one.valid, *one.wrong)),
            )
        )
    return cases


def _group(one: ramdocs.AskedOfSeveral) -> str:
    if len(one.valid) > 1:
        return "several valid answers"
    return "one valid answer, and misinformation" if one.wrong else "one answer"


def _claims(given: Answer) -> bool:
    return bool(given.conflicts)


def _plain(text: str) -> str:
    return " ".join(["", *_WORD.findall(text.lower()), ""])


def _rows(cases: Sequence[Case]) -> list[dict[str, Any]]:
    rows = []
    for group in dict.fromkeys(case.group for case in cases):
        for half, chosen_on in (("chosen on", True), ("held out", False)):
            held = [case for case in cases if case.group == group and case.chosen_on == chosen_on]
            rows.append(
                {"group": group, "half": half, "n": len(held)}
                | {
                    name: asdict(bootstrap([float(getattr(case, name)) for case in held]))
                    for name in ("all_valid", "both_sides", "claimed")
                }
            )
    return rows


def _alarms(chosen: AskedSet, limit: int) -> dict[str, Any]:
    """Share of answerable questions with one answer where a conflict is claimed."""
    with filled(chosen.name, chosen.write, ALWAYS) as kb:
        asked = [one for one in sample(chosen.questions(kb), limit) if one.answerable]
        claimed = asyncio.run(_claimed(kb, [one.text for one in asked]))
    return {"set": chosen.name, "claimed": asdict(bootstrap(claimed))}


async def _claimed(kb: KnowledgeBase, questions: Sequence[str]) -> list[float]:
    return [
        float(_claims(await final(answer(kb, Question(text=text, fresh=True)))))
        for text in questions
    ]


def table(found: Mapping[str, Any]) -> list[str]:
    """The figures as Markdown."""
    lines = [
        "**RAMDocs dev**, each question asked of its own documents; an answer counts as shown when "
        "its string stands in a cited sentence.",
        "",
        "| questions with | half | n | all valid shown | and what is wrong | said to differ |",
        "|---|---|---|---|---|---|",
    ]
    for row in found["rows"]:
        cells = (_interval(row[name]) for name in ("all_valid", "both_sides", "claimed"))
        lines.append(f"| {row['group']} | {row['half']} | {row['n']} | {' | '.join(cells)} |")
    lines += ["", "False alarms (a conflict is claimed where there is one answer):", ""]
    lines += [
        f"- {each['set']}: {_interval(each['claimed'])} of {each['claimed']['n']}"
        for each in found["alarms"]
    ]
    return [*lines, ""]


def _interval(row: Mapping[str, Any]) -> str:
    return f"{row['mean']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"


if __name__ == "__main__":
    main()
