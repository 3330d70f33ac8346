"""A plan of research that a person agrees to, changes or refuses, on a terminal."""

from __future__ import annotations

import sys
from dataclasses import replace

import anyio
import typer
from rich.console import Console
from rich.text import Text

from wellread.errors import RequestError
from wellread.kb import KnowledgeBase
from wellread.research.research import plan_research
from wellread.serve.error_shapes import problem_of
from wellread.serve.features.researching.research_plans import added, dropped
from wellread.serve.features.researching.research_print import print_plan
from wellread.serve.terminal import Terminal
from wellread.values.reports import Facet, ResearchPlan, ResearchRequest

REFUSED = 3  # exit status
PROMPT = "Enter goes on · drop 2 4 · add WORDS · no › "


def somebody_types() -> bool:
    """Whether there is a person to ask."""
    return sys.stdin.isatty()


def agreed(
    console: Console, kb: KnowledgeBase, request: ResearchRequest, plan: ResearchPlan
) -> ResearchPlan:
    """The plan as the reader wants it, estimated anew after each change.

    Raises:
        Exit: it was refused, or the input ended.
        StoreError, ModelError: a part of the home cannot be used.
    """
    while True:
        word, _, rest = _line(console).strip().partition(" ")
        if word in ("", "y", "yes"):
            return plan
        if word in ("n", "no", "q"):
            console.print("Refused; nothing is looked for.")
            raise typer.Exit(REFUSED)
        try:
            facets = _edited(plan, request, word, rest)
            plan = anyio.run(plan_research, kb, replace(request, facets=facets))
        except RequestError as error:
            Terminal(err=console).write_problem(problem_of(error))
            continue
        print_plan(console, plan)


def _line(console: Console) -> str:
    """What is typed; the end of the input refuses."""
    console.print(Text(PROMPT, style="bold"), end="")
    try:
        return input()
    except EOFError:
        return "no"


def _edited(
    plan: ResearchPlan, request: ResearchRequest, word: str, rest: str
) -> tuple[Facet, ...]:
    """The parts of the plan after one command.

    Raises:
        RequestError: it is no command, or it cannot be done.
    """
    numbers = rest.replace(",", " ").split()
    if word == "drop" and numbers and all(one.isdecimal() for one in numbers):
        return dropped(plan.facets, {int(one) for one in numbers})
    if word == "add" and rest.strip():
        return added(plan.facets, rest.strip(), request.question.filters)
    raise RequestError(
        f"{word!r} is no command here", hint="press Enter, or type drop 2 4, add WORDS, or no"
    )
