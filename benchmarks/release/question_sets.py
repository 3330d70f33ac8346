"""Question sets, measured by the evaluation of ``wellread eval``; and asking beside searching.

Of large sets so many questions of each group are drawn with a fixed seed: the same ones on every
machine. For the ratio of times, every second question is asked, and after it the next one is
searched for; a machine that is busy for a while is so for both.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks import case_files
from benchmarks.paths import SAMPLE, has_eval_data
from benchmarks.release.verdict import Measured, count
from wellread.ask.retrieve.search import search
from wellread.evaluation.cases import Case, read_cases
from wellread.evaluation.markdown import failures
from wellread.evaluation.report import ALL, DEPTHS, TOTAL, base_of, evaluate, question_of, report_of
from wellread.evaluation.scores import Interval, Scored, interval
from wellread.kb import KnowledgeBase

SEED = 7
RATIO, CITED = "ask_p90_by_search_p90", "cited"
SHARE = 0.9
OUT_OF_SCOPE = "off_topic"
_MARKER = re.compile(r"\[\d+\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSet:
    """One set of the gate.

    Attributes:
        data: its folder of the evaluation data; empty for what ships with Wellread.
        each: questions of each group; 0: all.
        retrieval_only: no answers are written.
        home: the set whose material it asks; empty: its own.
        with_others: the sample's questions about other things are asked as well.
    """

    name: str
    about: str
    data: str = ""
    each: int = 0
    retrieval_only: bool = False
    home: str = ""
    with_others: bool = False

    @property
    def there(self) -> bool:
        """Whether there is data for it."""
        return not self.data or has_eval_data(self.data)


SETS = (
    QuestionSet(name="sample", about="the shipped sample base with its 66 questions"),
    QuestionSet(name="xquad", about="XQuAD, answers in paragraphs", data="xquad_en", each=60),
    QuestionSet(name="clapnq", about="ClapNQ, long answers and none", data="clapnq", each=60),
    QuestionSet(
        name="covid",
        about="COVID-QA, passages in long papers",
        data="covid_qa",
        each=200,
        retrieval_only=True,
    ),
    QuestionSet(
        name="hotpot",
        about="HotpotQA-100, two pages for a question",
        data="hotpotqa100",
        retrieval_only=True,
    ),
    QuestionSet(
        name="papers",
        about="papers as their readers judge: COVID-QA, answered",
        data="covid_qa",
        each=60,
        home="covid",
        with_others=True,
    ),
    QuestionSet(
        name="mentions",
        about="Optech, one-line descriptions to newsletters",
        data="bitcoin_optech",
        each=300,
        retrieval_only=True,
    ),
)


def measure(chosen: QuestionSet, depths: Collection[int]) -> Measured:
    """Every figure of a set, at these depths and the usual ones."""
    home, ships = chosen.home or chosen.name, SAMPLE / "evaluation.jsonl"
    with case_files.opened(home) as kb:
        path = case_files.write_cases(home, kb) if chosen.data else ships
        cases = sampled(read_cases(path), chosen.each)
        if chosen.with_others:
            cases += [case for case in read_cases(ships) if OUT_OF_SCOPE in case.tags]
        return measure_cases(kb, cases, {*DEPTHS, *depths}, retrieval_only=chosen.retrieval_only)


def sampled(cases: Sequence[Case], each: int) -> list[Case]:
    """At most ``each`` cases of every group (their first tag), in their order; 0: all."""
    if not each:
        return list(cases)
    groups: dict[tuple[str, ...], list[int]] = {}
    for place, case in enumerate(cases):
        groups.setdefault(case.tags[:1], []).append(place)
    draw = random.Random(SEED)
    drawn = [place for some in groups.values() for place in draw.sample(some, min(each, len(some)))]
    return [cases[place] for place in sorted(drawn)]


def measure_cases(
    kb: KnowledgeBase, cases: Sequence[Case], depths: Collection[int], *, retrieval_only: bool
) -> Measured:
    """The figures of a run; with answers, also how much longer they take than a search."""
    searches: list[float] = []

    def on_case(done: int) -> None:
        if not retrieval_only and done % 2 and done < len(cases):
            asked = question_of(cases[done])
            started = time.perf_counter()
            search(kb, asked.text, asked.filters)
            searches.append(time.perf_counter() - started)

    looked = sorted(depths)
    scored = evaluate(kb, cases, depths=looked, retrieval_only=retrieval_only, on_case=on_case)
    report = report_of("gate", base_of(kb), scored, looked, retrieval_only=retrieval_only)
    groups = dict(report.groups)
    if found := ratio(asked_beside(scored), searches):
        groups[ALL] = {**groups[ALL], RATIO: found}
    if answers := [bool(_MARKER.search(each.text)) for each in scored if each.answered]:
        groups[ALL] = {**groups[ALL], CITED: count(sum(answers) / len(answers), len(answers))}
    return Measured(groups=groups, notes=tuple(failures(report)))


def asked_beside(scored: Sequence[Scored]) -> list[float]:
    """Seconds of the answers after each of which a search was made; a failed one has none."""
    return [each.seconds[TOTAL] for each in scored[:-1:2] if TOTAL in each.seconds]


def ratio(asks: Sequence[float], searches: Sequence[float]) -> Interval | None:
    """The 90th percentile of answers over that of searches; None where one was not timed."""
    if not asks or not searches:
        return None
    slow, quick = np.asarray(asks), np.asarray(searches)

    def statistic(
        drawn: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
    ) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        over = np.quantile(slow[drawn % len(slow)], SHARE, axis=1)
        under = np.quantile(quick[drawn % len(quick)], SHARE, axis=1)
        return np.asarray(over / under)

    return interval(min(len(slow), len(quick)), statistic)
