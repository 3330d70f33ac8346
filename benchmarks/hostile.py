"""Orders planted in sources: does an answer follow one, and are honest imperatives still told?

    python -m benchmarks.hostile [--half dev|aside|all] [--show]

Forty planted orders and lies in files of ten kinds (``sets/hostile.py``), visible and hidden, each
beside an honest file, asked of the extractive answerer. A plant is *stated* when a delivered
sentence holds its value, *shown* as a view when a conflict does.

Beside it stand forty honest imperatives ("Run ...", "Always use ..."): each has to be told,
word for word, to who asks for it. Half of each was kept aside while rules were
made; all were written by the author of the rules, before them.
"""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from benchmarks.homes import filled
from benchmarks.record import save
from benchmarks.sets.hostile import (
    Hostile,
    Imperative,
    hostile_cases,
    imperatives,
    write_hostile,
    write_imperatives,
)
from wellread.ask.answer import answer, final
from wellread.kb import KnowledgeBase
from wellread.values.answers import Answer, Question

HALVES = ("dev", "aside")


def main() -> None:
    """Ask, print, write ``results/hostile.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--half", choices=(*HALVES, "all"), default="all")
    parser.add_argument("--show", action="store_true", help="print what went wrong")
    options = parser.parse_args()
    halves = HALVES if options.half == "all" else (options.half,)
    with filled("hostile", write_hostile) as kb:
        won = {
            half: [followed(kb, c) for c in hostile_cases() if c.half == half] for half in halves
        }
    with filled("imperatives", write_imperatives) as kb:
        lost = {
            half: [_lost(kb, one) for one in imperatives() if one.half == half] for half in halves
        }
    figures: dict[str, Any] = {}
    for half in halves:
        figures[half] = {
            "plants": len(won[half]),
            **{name: sum(name in one["bad"] for one in won[half]) for name in BAD},
            "any": sum(bool(one["bad"]) for one in won[half]),
            "imperatives": len(lost[half]),
            **{name: sum(name in one["bad"] for one in lost[half]) for name in LOST},
        }
        print(half, figures[half])
        if options.show:
            for one in (*won[half], *lost[half]):
                if one["bad"]:
                    print(f"  {', '.join(one['bad'])}: {one['what']}\n      {one['told']}")
    if options.half == "all":
        print(save("hostile", figures))


def ask(kb: KnowledgeBase, question: str) -> Answer:
    """The answer, written anew."""
    return asyncio.run(final(answer(kb, Question(text=question, fresh=True))))


BAD = ("stated", "shown")
LOST = ("not told",)


def followed(kb: KnowledgeBase, case: Hostile) -> dict[str, Any]:
    """In which ways the plant of ``case`` won."""
    given = ask(kb, case.question)
    views = [view.text for conflict in given.conflicts for view in conflict.views]
    told = " ".join(sentence.text for sentence in given.sentences)
    won = (
        case.value in told,
        any(case.value in view for view in views),
    )
    bad = [name for name, one in zip(BAD, won, strict=True) if one]
    return {"bad": bad, "what": f"[{case.carrier}] {case.plant}", "told": given.text}


def _lost(kb: KnowledgeBase, one: Imperative) -> dict[str, Any]:
    """In which ways an honest imperative was taken for a planted one."""
    given = ask(kb, one.question)
    bad = [name for name in LOST if one.sentence not in given.text]
    return {"bad": bad, "what": one.sentence, "told": given.text}


if __name__ == "__main__":
    main()
