"""Questions that take something false for granted: are they told so?

    python -m benchmarks.premises

44 questions about the sample base, each with one thing changed that the material says otherwise
(``sets/false_premises.jsonl``; ``told`` is what an answer has to say instead), asked of the
extractive answerer with the default settings. The other way round, the answerable questions of the
sample and every third of XQuAD's take nothing false for granted: whatever they are told is a false
alarm. The 44 were written by the author of the rules.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from benchmarks.extractive import NOBODY
from benchmarks.homes import filled
from benchmarks.record import save
from benchmarks.sets.asked import AskedSet
from benchmarks.sets.reading import XQUAD
from benchmarks.sets.sample import SAMPLE_SET
from wellread.answers import Answer, Question
from wellread.ask.answer import answer, final
from wellread.evaluation.bootstrap import bootstrap
from wellread.kb import KnowledgeBase

QUESTIONS = Path(__file__).parent / "sets" / "false_premises.jsonl"
EVERY = {"sample": 1, "xquad": 3}

Outcome = Literal["put right", "told otherwise", "declined", "not noticed"]
OUTCOMES: tuple[Outcome, ...] = ("put right", "told otherwise", "declined", "not noticed")


def main() -> None:
    """Ask, print, write ``results/premises.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--show", action="store_true", help="print what was not put right")
    options = parser.parse_args()
    false = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    figures: dict[str, Any] = {"true": {}}
    for chosen in (SAMPLE_SET, XQUAD):
        with filled(chosen.name, chosen.write) as kb:
            if chosen is SAMPLE_SET:
                outcomes = [outcome_of(ask(kb, one["question"]), one["told"]) for one in false]
            figures["true"][chosen.name] = alarms(kb, chosen)
    figures |= {
        "questions": len(false),
        "outcomes": {name: Counter(outcomes)[name] for name in OUTCOMES},
        "put right": str(bootstrap([float(one == "put right") for one in outcomes])),
        "left": [
            f"{found}: {one['question']}"
            for one, found in zip(false, outcomes, strict=True)
            if found != "put right"
        ],
    }
    if options.show:
        print("\n".join(figures["left"]))
    print("\n".join(table(figures)))
    print(save("premises", figures))


def ask(kb: KnowledgeBase, question: str) -> Answer:
    """The answer, written anew."""
    return asyncio.run(final(answer(kb, Question(text=question, fresh=True))))


def outcome_of(given: Answer, told: str) -> Outcome:
    """What became of a question whose premise is false; ``told`` is what is right."""
    if any(told.casefold() in premise.casefold() for premise in given.premises):
        return "put right"
    if given.premises:
        return "told otherwise"
    return "declined" if given.answered_by == NOBODY else "not noticed"


def alarms(kb: KnowledgeBase, chosen: AskedSet) -> dict[str, Any]:
    """How many questions without a false premise are told that they have one."""
    asked = [one.text for one in chosen.questions(kb) if one.answerable][:: EVERY[chosen.name]]
    told = [text for text in asked if ask(kb, text).premises]
    return {"questions": len(asked), "alarms": len(told), "told": told}


def table(figures: Mapping[str, Any]) -> list[str]:
    """The figures as Markdown."""
    lines = ["| questions | n | " + " | ".join(OUTCOMES) + " |", "|---" * 6 + "|"]
    cells = [str(figures["outcomes"][name]) for name in OUTCOMES]
    lines.append(f"| with a false premise | {figures['questions']} | {' | '.join(cells)} |")
    lines += ["", f"Put right: {figures['put right']}.", ""]
    lines += ["| questions without one | n | false alarms |", "|---|---|---|"]
    for name, found in figures["true"].items():
        lines.append(f"| {name} | {found['questions']} | {found['alarms']} |")
    return lines


if __name__ == "__main__":
    main()
