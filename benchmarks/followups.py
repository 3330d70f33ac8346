"""Follow-ups made into questions that stand alone: against people's rewrites, and for retrieval.

    python -m benchmarks.followups

CANARD (dev, 3,430 questions with human rewrites): the share of words right, as token F1 of our
question and the human one, beside that of the question left as it is. The conversation is played
again from its start: earlier questions are the ones that we rewrote, answers are those given, and
the title of the article counts as cited by each (its section does not). "Words put in" are those
that the question asked does not have: how many of ours the human has too, and the other way round.
People often add "besides ..." with the last answer, which the rules do not, so recall is low.

Questions that stand alone must stay as they are: the human rewrites put in place of the questions
(a few of them do not stand alone either), those that the human left as they were, the
questions of XQuAD, each after the two before it about the same paragraph, and the labelled
questions of ``benchmarks.analysis`` with the vocabulary of their base.

MTRAG-UN dev: nDCG@10 of a search for the last turn alone, as rewritten, with the question before
it where that is searched, too, and for all turns. "A new topic" puts the question, as it
stands alone, after the turns of another conversation: what is lost there is the price. The set's
``rewrites/`` belong to other conversations, of which the judged passages are not there; words
alone are compared (questions only, no answers).

A hash of the conversation puts it into half ``a``, which the rules were tuned on, or half ``b``,
which was only counted (of XQuAD every other article). The rest is
measured with an empty vocabulary: no names but those in the turns.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.analysis import SOURCES, TODAY, home, labelled
from benchmarks.homes import filled
from benchmarks.paths import eval_data
from benchmarks.record import save
from benchmarks.sets.items import MTRAG
from benchmarks.sets.judged import Query
from benchmarks.sets.reading import read_lines
from wellread.ask.retrieve.search import search
from wellread.ask.understand.rewrite import Rewritten, Turn, make_standalone
from wellread.ask.understand.vocabulary import Vocabulary, vocabulary_of
from wellread.evaluation.scores import Interval, bootstrap, paired_difference, percentile
from wellread.kb import KnowledgeBase
from wellread.types import Filters

NOTHING_KNOWN = Vocabulary()
HALVES = ("a", "b")
DEPTH = 100
NO_ANSWER = "I don't know."
APART = 37  # tasks between a question and the conversation it is put after
_WORD = re.compile(r"\w+")
_OWNER = re.compile(r"['’]s?\b")
_PUT_IN = re.compile(r"“(.+?)” is “(.+)”")
RUNS = {
    "last": "last turn alone",
    "rewritten": "rewritten",
    "context": "rewritten, with context",
    "all": "all turns",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question of a conversation, what we made of it and what a person made of it."""

    half: str
    asked: str
    human: str
    earlier: tuple[Turn, ...]
    ours: Rewritten
    seconds: float


def main() -> None:
    """Measure, print a table and write the result file."""
    cases = list(canard())
    figures: dict[str, Any] = {
        "canard": halved(cases),
        "mtrag rewrites": halved(list(mtrag_rewrites())),
        "pronouns": {half: pronouns([one for one in cases if one.half == half]) for half in HALVES},
        "xquad": xquad_changed(),
        "own": {base: own_changed(base) for base in sorted(SOURCES)},
        "mtrag": retrieval(),
        "milliseconds": {
            "median": round(1000 * percentile([one.seconds for one in cases], 0.5), 3),
            "p95": round(1000 * percentile([one.seconds for one in cases], 0.95), 3),
        },
    }
    print("\n".join(table(figures)))
    print(save("followups", figures))


def halved(cases: Sequence[Case]) -> dict[str, Any]:
    """The figures of either half."""
    return {half: rewriting([one for one in cases if one.half == half]) for half in HALVES}


def half_of(conversation: str) -> str:
    """The half that a conversation belongs to."""
    return HALVES[int(hashlib.sha256(conversation.encode()).hexdigest(), 16) % 2]


def canard() -> Iterator[Case]:
    """Every question of CANARD after the conversation played again."""
    played: dict[tuple[str, ...], Turn] = {}
    for row in json.loads(eval_data("canard", "dev.json").read_text(encoding="utf-8")):
        history = row["History"]
        title = history[0]
        earlier = [Turn(question="", names=(title,))]
        for place in range(2, len(history) - 1, 2):
            key = tuple(history[: place + 2])
            if key not in played:
                answer = history[place + 1]
                played[key] = Turn(
                    question=made(history[place], earlier).text,
                    answer="" if answer == NO_ANSWER else answer,
                    names=(title,),
                )
            earlier.append(played[key])
        yield _case(row["QuAC_dialog_id"], row["Question"], row["Rewrite"], earlier)


def mtrag_rewrites() -> Iterator[Case]:
    """The rewritten questions of MTRAG, whose conversations hold the questions alone."""
    folder = eval_data("mtrag_un", "rewrites")
    for name in ("clapnq", "cloud"):
        said = {one["_id"]: one["text"] for one in read_lines(folder / f"{name}_rewrite.jsonl")}
        for one in read_lines(folder / f"{name}_questions.jsonl"):
            *before, last = [text.strip() for text in one["text"].split("|user|:")[1:]]
            if before and one["_id"] in said:
                human = said[one["_id"]].removeprefix("|user|:").strip()
                yield _case(one["_id"], last, human, played_again([(text, "") for text in before]))


def played_again(turns: Sequence[tuple[str, str]]) -> list[Turn]:
    """Questions with their answers, each question as it is understood after those before it."""
    earlier: list[Turn] = []
    for question, answer in turns:
        earlier.append(Turn(question=made(question, earlier).text, answer=answer))
    return earlier


def made(question: str, earlier: Sequence[Turn]) -> Rewritten:
    """What we make of ``question``."""
    return make_standalone(question, earlier, NOTHING_KNOWN, TODAY)


def _case(conversation: str, asked: str, human: str, earlier: Sequence[Turn]) -> Case:
    started = time.perf_counter()
    ours = made(asked, earlier)
    return Case(
        half=half_of(conversation.partition("<")[0]),
        asked=asked,
        human=human,
        earlier=tuple(earlier),
        ours=ours,
        seconds=time.perf_counter() - started,
    )


def words(text: str) -> list[str]:
    """The words that are compared: lower case, no possessives."""
    return _WORD.findall(_OWNER.sub("", text.lower()))


def f1(one: str, other: str) -> float:
    """Token F1 of two questions."""
    mine, theirs = Counter(words(one)), Counter(words(other))
    both = (mine & theirs).total()
    return 2 * both / (mine.total() + theirs.total()) if both else 0.0


def rewriting(cases: Sequence[Case]) -> dict[str, Any]:
    """Our questions against the human ones."""
    as_is = [f1(one.asked, one.human) for one in cases]
    ours = [f1(one.ours.text, one.human) for one in cases]
    same = [one for one in cases if words(one.asked) == words(one.human)]
    put = wanted = right = 0
    for one in cases:
        asked = Counter(words(one.asked))
        mine, theirs = Counter(words(one.ours.text)) - asked, Counter(words(one.human)) - asked
        put, wanted, right = (
            put + mine.total(),
            wanted + theirs.total(),
            right + (mine & theirs).total(),
        )
    return {
        "n": len(cases),
        "f1 as asked": asdict(bootstrap(as_is)),
        "f1 rewritten": asdict(bootstrap(ours)),
        "f1 better by": asdict(paired_difference(ours, as_is)),
        "exact as asked": _share(words(one.asked) == words(one.human) for one in cases),
        "exact rewritten": _share(words(one.ours.text) == words(one.human) for one in cases),
        "changed": _share(bool(one.ours.reasons) for one in cases),
        "changed though the human changed nothing": _share(bool(one.ours.reasons) for one in same),
        "changed though it stands alone": _share(
            bool(made(one.human, one.earlier).reasons) for one in cases
        ),
        "worse than as asked": _share(mine < left for mine, left in zip(ours, as_is, strict=True)),
        "words put in: precision": round(right / put, 4) if put else 1.0,
        "words put in: recall": round(right / wanted, 4) if wanted else 1.0,
    }


def _share(flags: Iterable[bool]) -> dict[str, Any]:
    return asdict(bootstrap([float(flag) for flag in flags]))


def pronouns(cases: Sequence[Case]) -> dict[str, dict[str, float]]:
    """For each pronoun that was replaced: how often, and the share of its words the human has."""
    found: dict[str, list[float]] = defaultdict(list)
    for one in cases:
        human = set(words(one.human))
        for reason in one.ours.reasons:
            match = _PUT_IN.fullmatch(reason)
            if match and " " not in match[1]:
                said = words(match[2])
                found[match[1].lower()].append(sum(word in human for word in said) / len(said))
    ranked = sorted(found.items(), key=lambda pair: -len(pair[1]))
    return {
        word: {"n": len(shares), "right": round(sum(shares) / len(shares), 3)}
        for word, shares in ranked
    }


def xquad_changed() -> dict[str, Any]:
    """The share of XQuAD's questions, each after two others of its paragraph, that are changed."""
    data = json.loads(eval_data("xquad_en", "xquad.en.json").read_text(encoding="utf-8"))["data"]
    found: dict[str, list[bool]] = {half: [] for half in HALVES}
    for number, article in enumerate(data):
        for paragraph in article["paragraphs"]:
            turns = [
                Turn(question=qa["question"], answer=qa["answers"][0]["text"])
                for qa in paragraph["qas"]
            ]
            found[HALVES[number % 2]] += [
                bool(made(turn.question, turns[max(0, place - 2) : place]).reasons)
                for place, turn in enumerate(turns)
                if place
            ]
    return {half: _share(iter(flags)) for half, flags in found.items()}


def own_changed(base: str) -> dict[str, Any]:
    """The share of the labelled questions over one of our bases that is changed after others."""
    with home(base, None) as kb:
        vocabulary = vocabulary_of(kb)
    turns = [Turn(question=one.question) for one in labelled() if one.base == base]
    return _share(
        bool(
            make_standalone(
                turn.question, turns[max(0, place - 2) : place], vocabulary, TODAY
            ).reasons
        )
        for place, turn in enumerate(turns)
        if place
    )


def retrieval() -> dict[str, Any]:
    """nDCG@10 on MTRAG-UN, by half; and after turns about something else."""
    rows = read_lines(eval_data("mtrag_un", "reference.jsonl"))
    talks = [played_again(_answered(row["input"])) for row in rows]
    scores: dict[str, dict[str, list[float]]] = {half: defaultdict(list) for half in HALVES}
    changed: dict[str, list[bool]] = {half: [] for half in HALVES}
    with filled(MTRAG.name, MTRAG.write) as kb:
        queries = {query.id: query for query in MTRAG.queries(kb)}
        for number, (row, earlier) in enumerate(zip(rows, talks, strict=True)):
            query = queries.get(row["task_id"])
            if query is None or not earlier:
                continue
            last = row["input"][-1]["text"]
            ours = made(last, earlier)
            other = next(talk for talk in (talks + talks)[number + APART :] if talk)
            after = made(ours.text, other)
            texts = {
                "last": last,
                "rewritten": ours.text,
                "context": f"{ours.text}\n{ours.context}".strip(),
                "all": query.text,
                "new topic, rewritten": after.text,
                "new topic, context": f"{after.text}\n{after.context}".strip(),
            }
            half = half_of(row["conversation_id"])
            changed[half].append(ours.text != last)
            found = {text: _ndcg(kb, query, text) for text in set(texts.values())}
            for run, text in texts.items():
                scores[half][run].append(found[text])
    return {half: _runs(scores[half]) | {"changed": _share(iter(changed[half]))} for half in HALVES}


def _runs(scores: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    return {
        "n": len(scores["last"]),
        "ndcg@10": {run: asdict(bootstrap(scores[run])) for run in RUNS},
        "less the last turn": {
            run: asdict(paired_difference(scores[run], scores["last"])) for run in RUNS
        },
        "lost on a new topic": {
            run: asdict(paired_difference(scores["rewritten"], scores[f"new topic, {run}"]))
            for run in ("rewritten", "context")
        },
    }


def _answered(said: Sequence[Mapping[str, str]]) -> list[tuple[str, str]]:
    """The questions before the last one with what was answered."""
    return [(said[place]["text"], said[place + 1]["text"]) for place in range(0, len(said) - 1, 2)]


def _ndcg(kb: KnowledgeBase, query: Query, text: str) -> float:
    seen = dict.fromkeys(hit.document.id for hit in search(kb, text, Filters(), limit=DEPTH))
    ranked = [frozenset({document}) for document in seen]
    return float(MTRAG.measures["ndcg@10"](ranked, query.grades))


def table(figures: Mapping[str, Any]) -> list[str]:
    """The figures as Markdown lines."""
    sets: list[tuple[str, Mapping[str, Any]]] = [
        (f"{name}, half {half}", figures[name.lower()][half])
        for name in ("CANARD", "MTRAG rewrites")
        for half in HALVES
    ]
    lines = [
        "| | " + " | ".join(f"{name} (n = {one['n']:,})" for name, one in sets) + " |",
        "|---|" + "---:|" * len(sets),
    ]
    for measure in sets[0][1]:
        if measure != "n":
            cells = [_cell(one[measure]) for _, one in sets]
            lines.append(f"| {measure} | {' | '.join(cells)} |")
    told = ", ".join(
        f"{word} {one['right']:.2f} ({one['n']})"
        for word, one in figures["pronouns"]["b"].items()
        if one["n"] > 4
    )
    lines += [
        "",
        f"Half b, the share of a pronoun's words that the human has too: {told}.",
        "",
        f"Questions of XQuAD, half b, that were changed: {_cell(figures['xquad']['b'])} of "
        f"{figures['xquad']['b']['n']:,}; some do not stand alone. Of "
        "the labelled questions of `benchmarks.analysis`, each after two others, with the names of "
        "the base known: "
        + ", ".join(f"{base} {_cell(one)} of {one['n']:,}" for base, one in figures["own"].items())
        + ".",
        "",
        "| MTRAG-UN, nDCG@10 | "
        + " | ".join(
            f"half {half} (n = {figures['mtrag'][half]['n']}) | less the last turn"
            for half in HALVES
        )
        + " |",
        "|---|" + "---:|---:|" * len(HALVES),
    ]
    for run, name in RUNS.items():
        cells = [
            f"{_cell(one['ndcg@10'][run])} | {_cell(one['less the last turn'][run], signed=True)}"
            for one in (figures["mtrag"][half] for half in HALVES)
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lost = figures["mtrag"]["b"]["lost on a new topic"]
    spent = figures["milliseconds"]
    return [
        *lines,
        "",
        f"Half b, {_cell(figures['mtrag']['b']['changed'])} of the questions were rewritten. After "
        f"turns about something else a question loses {_cell(lost['rewritten'])} as rewritten, "
        f"{_cell(lost['context'])} with context.",
        "",
        f"One rewriting: median {spent['median']:.2f} ms, 95th percentile {spent['p95']:.2f} ms.",
    ]


def _cell(value: Any, *, signed: bool = False) -> str:
    if not isinstance(value, Mapping):
        return f"{value:.3f}"
    if signed:
        return f"{value['mean']:+.3f} [{value['low']:+.3f}, {value['high']:+.3f}]"
    return str(Interval(**value))


if __name__ == "__main__":
    main()
