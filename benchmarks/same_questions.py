"""Which questions mean the same, so that the answer to one answers the other?

    python -m benchmarks.same_questions [--half test] [--show N]

Two data sets: questions of people about web applications with paraphrases that a model wrote
(StackFAQ), and questions to a bank (Banking77). From each question others are made that ask
something else: negated, with its sides swapped, with another number, name or year, the same
without capitals, with an opposite word, with one thing for another of its kind, with a limit more.
All of these are tried as if their vectors were one: the gate alone decides.
How often it takes one for the same question is the first figure; beside it, how often the cosine
of the two vectors alone would (at least .8), for every tenth source. The second is how many
paraphrases it keeps: all of StackFAQ's with a cosine of .8 or more were read and judged
(``sets/same_questions.json`` holds the lines: true, false, or unclear, which are not counted; many
paraphrases of the set ask something else). Of the true ones many differ in a capital or a mark
alone, so those in other words are counted by themselves. The third is what it takes for the same
among real questions of different originals or intents with a cosine of at least .8.

Halves go by the hash of the original question; the gate was made on ``dev``.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.paths import CACHE, eval_data
from benchmarks.record import save
from wellread.ask.retrieve.past_questions import MIN_SAME, is_same_question
from wellread.evaluation.scores import bootstrap
from wellread.models.embedders.open_embedder import open_embedder
from wellread.settings_file import load_settings
from wellread.text.english import AROUND_A_QUESTION, STOP_WORDS

JUDGED = Path(__file__).parent / "sets" / "same_questions.json"
Embed = Callable[[Sequence[str]], Any]

ASKED_OF_BANK = 1_500  # of each half, whose vectors are compared
NAMES = "Alice,Ben,Gmail,Trello,Dropbox,Norway,Peru,Kenya,Lisbon,Visa,PayPal,Firefox".split(",")
OPPOSITES = """
    add/remove open/close increase/decrease receive/send buy/sell enable/disable show/hide
    before/after first/last minimum/maximum top/bottom cancel/keep activate/deactivate
    deposit/withdraw old/new physical/virtual increase/lower more/less accept/decline
    import/export import/download find/lose verify/falsify borrow/repay expire/begin
""".split()
KINDS = """
    red/blue wet/dry cotton/wool married/single wooden/metal rural/urban liquid/solid apple/pear
    chess/tennis weekly/monthly junior/senior copper/silver guest/member
""".split()
LIMITS = ("for students", "in the mountains", "by boat", "on sundays", "as a tourist", "at work")
_AUXILIARY = re.compile(r"\b(can|could|do|does|did|is|are|was|were|will|would|should|has|have)\b")
_DENIAL = re.compile(r"n['’]t\b|\bnot\b ?", re.IGNORECASE)
_NUMBER = re.compile(r"\b\d+\b|\b(?:two|three|four|five|six|seven|ten)\b")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}\b")
_SIDES = re.compile(  # two things of one word each
    r"\b(?:my|the|a|an|your|some|any|are|is|how do you|add|move|convert) (?P<a>[a-zA-Z]{3,}) "
    r"(?P<p>from|to|into|in|on|with|of|for|than|by|without|between) "
    r"(?P<d>(?:my|the|a|an|your|another) )?(?P<b>[a-zA-Z]{3,})"
    r"(?=$|[?.,!]| (?:and|is|to|if|when|in))"
)
_FROM_TO = re.compile(r"\bfrom (?P<a>(?:\w+ ){0,2}\w+) to (?P<b>(?:\w+ )?\w+)")
_CLOSED = re.compile(r"\s*\[closed\]")  # what the forum adds
_NO_THINGS = STOP_WORDS | AROUND_A_QUESTION | {"option", "while", "used", "manually", "keyed"}


def main() -> None:
    """Print the figures, write ``results/same_questions.json``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--half", choices=("dev", "test"), default="dev")
    parser.add_argument("--show", type=int, default=0, help="print so many mistakes of each kind")
    options = parser.parse_args()
    embedder = open_embedder(load_settings(CACHE, environ={}).embedding, CACHE / "model")

    def embed(words: Sequence[str]) -> Any:
        return embedder.embed(words, "query")

    figures: dict[str, Any] = {"half": options.half}
    figures |= {"turned round": turned_round(options.half, options.show)}
    figures |= {"by their vectors alone": near_by_vectors(options.half, embed)}
    figures |= {"paraphrases": kept(options.half, embed, options.show)}
    figures |= {"real": real(options.half, embed, options.show)}
    save(f"same_questions-{options.half}", figures)
    print(json.dumps(figures, indent=1))


def table(figures: dict[str, Any]) -> list[str]:
    """The tables of one half."""
    rows = [f"| taken for the same, half {figures['half']} | share |", "|---|---|"]
    rows += [f"| made: {kind} | {share} |" for kind, share in figures["turned round"].items()]
    rows += [
        f"| made: {kind}, by vectors alone | {share} |"
        for kind, share in figures.get("by their vectors alone", {}).items()
    ]
    rows += [f"| paraphrases, {kind} | {share} |" for kind, share in figures["paraphrases"].items()]
    real = figures["real"]["bank"]
    rows += [
        f"| bank, pairs of {label} intent and cosine .8 or more | "
        f"{real[f'{label} label: taken for the same']} of {real[f'{label} label: near']:,} |"
        for label in ("the same", "another")
    ]
    return rows


def half_of(question: str) -> str:
    """The half that a question belongs to, with all that was made of it."""
    return "test" if hashlib.sha256(question.encode()).digest()[0] % 2 else "dev"


def stackfaq() -> list[tuple[str, str]]:
    """Original and paraphrase, in the file's order."""
    path = eval_data("stackfaq_paraphrases", "StackFAQ-paraphrases.tsv")
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t") for line in lines)
    return [(_CLOSED.sub("", one).strip(), _CLOSED.sub("", other).strip()) for one, other in rows]


def bank() -> dict[str, str]:
    """Question to its intent."""
    with eval_data("banking77", "train.csv").open(encoding="utf-8", newline="") as file:
        return {" ".join(row["text"].split()): row["category"] for row in csv.DictReader(file)}


# --- made questions --------------------------------------------------------------------------


def turned_round(half: str, show: int) -> dict[str, str]:
    """The share of made questions that are taken for the one they were made from, by kind."""
    taken: dict[str, list[float]] = {}
    for question in sources(half):
        for kind, one, other in made(question):
            wrong = is_same_question(one, other, 1.0)
            taken.setdefault(kind, []).append(float(wrong))
            if wrong and sum(taken[kind]) <= show:
                print(f"{kind}: {one} | {other}")
    everything = [each for found in taken.values() for each in found]
    return {kind: _share(found) for kind, found in (*taken.items(), ("all", everything))}


def near_by_vectors(half: str, embed: Embed) -> dict[str, str]:
    """The share of made questions that the cosine alone takes for theirs, of every tenth source."""
    pairs = [each for question in sources(half)[::10] for each in made(question)]
    ones, others = (np.asarray(embed([pair[place] for pair in pairs])) for place in (1, 2))
    taken: dict[str, list[float]] = {}
    for (kind, _, _), cosine in zip(pairs, np.sum(ones * others, axis=1), strict=True):
        taken.setdefault(kind, []).append(float(cosine >= MIN_SAME))
    everything = [each for found in taken.values() for each in found]
    return {kind: _share(found) for kind, found in (*taken.items(), ("all", everything))}


def sources(half: str) -> list[str]:
    """The questions of a half that others are made from."""
    questions = dict.fromkeys([*(text for row in stackfaq() for text in row), *bank()])
    return [each for each in questions if half_of(each) == half]


def made(question: str) -> Iterator[tuple[str, str, str]]:
    """Kind, question, and one that asks something else."""
    chance = random.Random(question)
    pairs = [*_made(question, chance)]
    yield from pairs
    for kind, one, other in pairs:
        if kind in ("name", "sides"):
            yield f"{kind}, no capitals", one.lower(), other.lower()


def _made(question: str, chance: random.Random) -> Iterator[tuple[str, str, str]]:
    bare = question.rstrip("?!. ")
    if _DENIAL.search(question):
        yield "negation", question, _DENIAL.sub("", question, count=1)
    elif found := _AUXILIARY.search(question):
        said = found.group()
        form = chance.choice(
            (f"{said} not", {"can": "can't", "will": "won't"}.get(said, f"{said}n't"))
        )
        yield "negation", question, question[: found.start()] + form + question[found.end() :]
    if found := _NUMBER.search(question):
        other = str(int(found.group()) + 1) if found.group().isdigit() else "nine"
        yield "number", question, question[: found.start()] + other + question[found.end() :]
    else:
        yield "number", f"{bare} within 3 days?", f"{bare} within {chance.randint(4, 30)} days?"
    if found := _NAME.search(question):
        other = chance.choice([name for name in NAMES if name not in question])
        yield "name", question, question[: found.start()] + other + question[found.end() :]
    else:
        one, other = chance.sample(NAMES, 2)
        yield "name", f"{bare} with {one}?", f"{bare} with {other}?"
    year = chance.randint(1990, 2020)
    yield "year", f"{bare} in {year}?", f"{bare} in {year + chance.randint(1, 9)}?"
    yield "year", f"{bare} in {year}?", question
    swapped = _swapped(question)
    if swapped:
        yield "sides", question, swapped
    for pair in OPPOSITES:
        for one, other in (pair.split("/"), pair.split("/")[::-1]):
            if found := re.search(rf"\b{one}\b", question):
                changed = question[: found.start()] + other + question[found.end() :]
                yield "opposite", question, changed
    one, other = chance.choice(KINDS).split("/")
    yield "another of its kind", f"{bare} for {one} ones?", f"{bare} for {other} ones?"
    yield "a limit more", question, f"{bare} {chance.choice(LIMITS)}?"


def _swapped(question: str) -> str:
    """The question with two things in each other's place; empty when no two are found."""
    if found := _FROM_TO.search(question):
        one, other = found["a"], found["b"]
        if one != other:
            said = f"from {other} to {one}"
            return question[: found.start()] + said + question[found.end() :]
    for found in _SIDES.finditer(question):
        one, other = found["a"], found["b"]
        if {one.lower(), other.lower()} & _NO_THINGS or one.lower() == other.lower():
            continue
        said = f"{other} {found['p']} {found['d'] or ''}{one}"
        return question[: found.start("a")] + said + question[found.end("b") :]
    return ""


# --- paraphrases and real questions ----------------------------------------------------------


def kept(half: str, embed: Embed, show: int) -> dict[str, str]:
    """The share of judged paraphrases that are taken for the same question."""
    judged = json.loads(JUDGED.read_text(encoding="utf-8"))[half]
    rows = stackfaq()
    found: dict[str, list[float]] = {"true": [], "false": [], "worded": []}
    for label in ("true", "false"):
        for line in judged[label]:
            one, other = rows[line]
            vectors = embed([one, other])
            cosine = float(vectors[0] @ vectors[1])
            taken = is_same_question(other, one, cosine)
            found[label].append(float(taken))
            if label == "true" and _letters(one) != _letters(other):
                found["worded"].append(float(taken))
            if taken != (label == "true") and show:
                print(f"{label} ({cosine:.2f}): {one} | {other}")
    return {
        "true kept": _share(found["true"]),
        "true kept, of those in other words": _share(found["worded"]),
        "not the same, taken all the same": _share(found["false"]),
    }


def real(half: str, embed: Embed, show: int) -> dict[str, Any]:
    """What is taken for the same of near questions with other originals or intents."""
    originals = list(dict.fromkeys(one for one, _ in stackfaq() if half_of(one) == half))
    intents = bank()
    asked = [each for each in intents if half_of(each) == half]
    asked = random.Random(half).sample(asked, ASKED_OF_BANK)
    groups = [
        ("web applications", originals, originals),
        ("bank", asked, [intents[each] for each in asked]),
    ]
    figures: dict[str, Any] = {}
    for name, questions, labels in groups:
        vectors = np.asarray(embed(questions))
        near = np.argwhere(np.triu(vectors @ vectors.T, 1) >= MIN_SAME)
        counts: Counter[str] = Counter()
        for one, other in near.tolist():
            kind = "the same" if labels[one] == labels[other] else "another"
            cosine = float(vectors[one] @ vectors[other])
            taken = is_same_question(questions[one], questions[other], cosine)
            counts[f"{kind} label: near"] += 1
            counts[f"{kind} label: taken for the same"] += taken
            if taken and kind == "another" and show:
                print(f"{name} {cosine:.2f}: {questions[one]} | {questions[other]}")
        figures[name] = dict(sorted(counts.items()))
    return figures


def _letters(question: str) -> list[str]:
    return re.findall(r"\w+", question.lower())


def _share(found: Sequence[float]) -> str:
    return f"{bootstrap(found)} ({sum(found):.0f} of {len(found):,})"


if __name__ == "__main__":
    main()
