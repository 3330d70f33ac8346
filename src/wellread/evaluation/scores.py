"""What one case scores: its ranking, its answer's text, its citations, its confidence.

A ranking is a sequence of places, best first; each place holds the names of the targets that the
item there meets (a document meets itself; a passage meets every gold span that it overlaps). A case
that failed or found nothing gets the worst value of every measure that it has; it is never left
out.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from wellread.ask.aggregate.read.result import AggregateResult
from wellread.ask.retrieve.ranking import Found
from wellread.evaluation.cases import Case, Targets
from wellread.values.answers import CATALOGUE, NOBODY, Answer
from wellread.values.question import QuestionType

Ranking = Sequence[frozenset[str]]
Grades = Mapping[str, float]
Measure = Callable[[Ranking, Grades], float]

_ARTICLES = re.compile(r"\b(a|an|the)\b")
# ASCII punctuation as in SQuAD's script, and what typographic quotes and dashes add to it.
_PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation + "“”‘’„«»–—…", " "))


# --- rankings --------------------------------------------------------------------------------


def hit(ranking: Ranking, grades: Grades, depth: int) -> float:
    """1 when one of the first ``depth`` places meets a target, else 0."""
    return float(any(place & grades.keys() for place in ranking[:depth]))


def recall(ranking: Ranking, grades: Grades, depth: int) -> float:
    """Share of the targets that the first ``depth`` places meet; 0 when there is no target."""
    met = _met(ranking[:depth]) & grades.keys()
    return len(met) / len(grades) if grades else 0.0


def every(ranking: Ranking, grades: Grades, depth: int) -> float:
    """1 when the first ``depth`` places meet all targets, else 0."""
    return float(bool(grades) and grades.keys() <= _met(ranking[:depth]))


def ndcg(ranking: Ranking, grades: Grades, depth: int) -> float:
    """Normalised discounted cumulative gain, linear gain and log2 discount.

    Järvelin and Kekäläinen, ACM TOIS 20(4), 2002, as trec_eval and BEIR compute it. A target
    counts at the first place that meets it.

    One place may meet several targets (a passage over two gold spans). They are counted as if each
    had a place of its own, from there on, so that the measure never exceeds 1.
    """
    seen: set[str] = set()
    gained = 0.0
    taken = 0
    for number, targets in enumerate(ranking[:depth]):
        fresh = sorted((grades[name] for name in targets - seen if name in grades), reverse=True)
        seen |= targets
        first = max(number, taken)
        taken = min(first + len(fresh), depth)
        places = range(first, taken)
        gained += sum(
            grade / math.log2(place + 2) for place, grade in zip(places, fresh, strict=False)
        )
    ideal = sum(
        grade / math.log2(place + 2)
        for place, grade in enumerate(sorted(grades.values(), reverse=True)[:depth])
    )
    return gained / ideal if ideal > 0 else 0.0


def _met(places: Ranking) -> set[str]:
    return set().union(*places)


# --- texts -----------------------------------------------------------------------------------


def normalised(text: str) -> str:
    """Lower case, without punctuation and articles, single spaces.

    As the evaluation script of SQuAD does (Rajpurkar et al., EMNLP 2016), except that punctuation
    separates words instead of joining them ("tool-library" is two words).
    """
    plain = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", plain).split())


def contains(text: str, accepted: Sequence[str]) -> float:
    """1 when ``text`` holds one of the accepted answers as whole words, both normalised."""
    inside = f" {normalised(text)} "
    return float(any(plain and f" {plain} " in inside for plain in map(normalised, accepted)))


# --- citations -------------------------------------------------------------------------------


def citation_precision(citations: Sequence[frozenset[str]]) -> float:
    """Share of the citations that meet a target; 0 when there is none."""
    return sum(bool(met) for met in citations) / len(citations) if citations else 0.0


def citation_recall(citations: Sequence[frozenset[str]], targets: frozenset[str]) -> float:
    """Share of the targets that a citation meets; 0 when there is no target."""
    return len(_met(citations) & targets) / len(targets) if targets else 0.0


NDCG_DEPTH = 10
WORST_BRIER = 1.0
LESS_IS_BETTER = frozenset({"brier", "failed", "seconds_p50", "seconds_p90"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What came back for one case.

    Attributes:
        found: None when the case failed; ``answer`` also when only retrieval ran.
        failed: why there is no result; empty when there is one.
        seconds: step to its time; ``total`` is all of them.
    """

    found: Found | None = None
    type: QuestionType | None = None
    answer: Answer | None = None
    failed: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def answered(self) -> bool:
        """Whether there is an answer, not the no-data reply or a list without an entry."""
        return (
            self.answer is not None
            and self.answer.answered_by != NOBODY
            and not _nothing_listed(self.answer)
        )

    @property
    def confidence(self) -> float | None:
        """How sure it is that the answer is right.

        One that is sure that there is nothing is not sure to have answered.
        """
        if self.answer is None:
            return None
        sure = self.answer.confidence.score
        return 1 - sure if _nothing_listed(self.answer) else sure


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """One case with its scores by measure.

    Attributes:
        right: whether the delivered answer was right; None when the case cannot tell.
        confidence: of the answer; None without one.
    """

    case: Case
    scores: Mapping[str, float]
    right: bool | None = None
    confidence: float | None = None
    answered: bool | None = None
    text: str = ""
    failed: str = ""
    missing: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)


def score(
    case: Case, targets: Targets, run: Run, depths: Sequence[int], *, retrieval_only: bool
) -> Scored:
    """Every measure that ``case`` has."""
    scores = _retrieval_scores(targets, run.found, depths)
    if case.type is not None:
        scores["type_accuracy"] = float(run.type == case.type)
    right = None
    if not retrieval_only:
        right = _right(case, targets, run)
        scores |= _answer_scores(case, targets, run, right)
    answer = run.answer
    return Scored(
        case=case,
        scores=scores,
        right=right,
        confidence=run.confidence,
        answered=run.answered if answer else None,
        text=answer.text if answer else "",
        failed=run.failed,
        missing=targets.missing,
        seconds=run.seconds,
    )


def measure_names(depths: Sequence[int | str]) -> list[str]:
    """Every measure, in the order of a report."""
    ranked = ["hit@1", *(f"recall@{k}" for k in depths), *(f"all@{k}" for k in depths)]
    ranked.append(f"ndcg@{NDCG_DEPTH}")
    return [
        *ranked,
        *(f"span_{name}" for name in ranked),
        "type_accuracy",
        "answer_right",
        "answer_match",
        "citation_precision",
        "citation_recall",
        "refusal_accuracy",
        "brier",
        "failed",
        "seconds_p50",
        "seconds_p90",
    ]


def _retrieval_scores(
    targets: Targets, found: Found | None, depths: Sequence[int]
) -> dict[str, float]:
    scores: dict[str, float] = {}
    if targets.grades:
        ranking = targets.ranking(_documents(found) if found else ())
        scores |= _ranking_scores(ranking, targets.grades, depths)
    if targets.span_grades:
        ranking = targets.span_ranking(found.hits if found else ())
        by_measure = _ranking_scores(ranking, targets.span_grades, depths)
        scores |= {f"span_{name}": value for name, value in by_measure.items()}
    return scores


def _documents(found: Found) -> list[str]:
    """Those that an exhaustive result rests on, then those of the passages."""
    rows = found.rows if isinstance(found, AggregateResult) else ()
    listed = [known for row in rows for known in row.document_ids]
    return listed + [hit.document.id for hit in found.hits]


def _ranking_scores(ranking: Ranking, grades: Grades, depths: Sequence[int]) -> dict[str, float]:
    return {
        "hit@1": hit(ranking, grades, 1),
        **{f"recall@{k}": recall(ranking, grades, k) for k in depths},
        **{f"all@{k}": every(ranking, grades, k) for k in depths},
        f"ndcg@{NDCG_DEPTH}": ndcg(ranking, grades, NDCG_DEPTH),
    }


def _answer_scores(case: Case, targets: Targets, run: Run, right: bool | None) -> dict[str, float]:
    expected = case.expected
    scores: dict[str, float] = {}
    if expected.answer:
        scores["answer_match"] = contains(_plain_text(run), expected.answer)
    if targets.grades:
        met = _cited(targets, run)
        wanted = frozenset(targets.span_grades or targets.grades)
        scores["citation_precision"] = citation_precision(met)
        scores["citation_recall"] = citation_recall(met, wanted)
    if expected.answerable is not None:
        agrees = run.answered == expected.answerable
        scores["refusal_accuracy"] = float(agrees and not run.failed)
    if right is not None:
        if expected.answerable:
            scores["answer_right"] = float(right)
        sure = run.confidence
        scores["brier"] = WORST_BRIER if sure is None else brier(sure, right)
    return scores


def _right(case: Case, targets: Targets, run: Run) -> bool | None:
    """Whether the answer holds an accepted string or cites an expected place.

    Where neither is given, an expected document has to be cited. A refusal is never right here
    (``refusal_accuracy`` is about those); None when the case does not say what is right.
    """
    expected = case.expected
    if expected.answerable is False:
        return False
    if not (expected.answer or targets.grades):
        return None
    if not run.answered:
        return False
    if expected.answer and contains(_plain_text(run), expected.answer):
        return True
    return bool(targets.span_grades or not expected.answer) and any(_cited(targets, run))


def _cited(targets: Targets, run: Run) -> list[frozenset[str]]:
    """What each citation meets: expected places where there are some, else documents.

    What a refusal shows as nearest is no citation of an answer.
    """
    if run.answer is None or run.answer.answered_by == NOBODY:
        return []
    if targets.span_grades:
        return [
            targets.spans_met_by(each.document_id, each.source_span)
            for each in run.answer.citations
        ]
    return [targets.met_by(known) for known in _cited_documents(run.answer)]


def _cited_documents(answer: Answer) -> list[str]:
    """Of an exhaustive result the whole list, of which the text may show the beginning only."""
    if answer.table is None:
        return [each.document_id for each in answer.citations]
    return list(dict.fromkeys(known for row in answer.table.documents for known in row))


def _nothing_listed(answer: Answer) -> bool:
    return answer.answered_by == CATALOGUE and bool(answer.data_gaps)


def _plain_text(run: Run) -> str:
    """The answer's sentences without citation markers; nothing for a refusal."""
    if run.answer is None or not run.answered:
        return ""
    return " ".join(each.text for each in run.answer.sentences) or run.answer.text


RESAMPLES = 2_000
SEED = 20_240_501
LEVEL = 0.95
BINS = 10
LEAST_IN_BIN = 5
DRAWN_AT_ONCE = 4_000_000  # case numbers held in memory at a time (32 MB)

Floats = NDArray[np.float64]
# One row of case numbers per resample to one figure per resample; NaN where there is none.
Statistic = Callable[[NDArray[np.int64]], Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A figure over ``n`` cases with its bootstrap interval."""

    mean: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


def bootstrap(values: Sequence[float]) -> Interval:
    """The mean with the 95 % percentile interval of 2,000 resamples of the cases."""
    cases = np.asarray(values, dtype=np.float64)
    return interval(len(cases), lambda drawn: np.asarray(cases[drawn].mean(axis=1)))


def bootstrap_percentile(values: Sequence[float], share: float) -> Interval:
    """The value below which ``share`` (0-1) of ``values`` lie, with its interval."""
    cases = np.asarray(values, dtype=np.float64)
    return interval(len(cases), lambda drawn: np.quantile(cases[drawn], share, axis=1))


def paired_difference(first: Sequence[float], second: Sequence[float]) -> Interval:
    """Mean of ``first - second`` case by case, with its interval."""
    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} cases cannot be paired")
    return bootstrap([one - other for one, other in zip(first, second, strict=True)])


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` (0-1) of ``values`` lie, interpolated; 0 for none."""
    return float(np.quantile(np.asarray(values, dtype=np.float64), share)) if values else 0.0


def interval(n: int, statistic: Statistic) -> Interval:
    """``statistic`` of all ``n`` cases, with the interval of its value over resamples.

    Resamples for which it has no value (NaN) are left out.
    """
    if not n:
        return Interval(mean=0.0, low=0.0, high=0.0, n=0)
    generator = np.random.default_rng(SEED)
    rows = max(1, DRAWN_AT_ONCE // n)
    figures: list[Floats] = []
    for start in range(0, RESAMPLES, rows):
        drawn = generator.integers(0, n, size=(min(rows, RESAMPLES - start), n))
        figures.append(statistic(drawn))
    found = np.concatenate(figures)
    whole = float(statistic(np.arange(n, dtype=np.int64)[np.newaxis])[0])
    low, high = np.quantile(found[~np.isnan(found)], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(mean=whole, low=float(low), high=float(high), n=n)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Judgements of similar confidence: its mean, and the share that came true."""

    confidence: float
    right: Interval


def brier(confidence: float, right: bool) -> float:
    """Squared error of one judgement (Brier, Monthly Weather Review 78, 1950); 0 is best."""
    return (confidence - right) ** 2


def reliability(confidences: Sequence[float], right: Sequence[bool]) -> list[Bin]:
    """The judgements by confidence, in up to ten bins of equal size, at least five in each."""
    if not confidences:
        return []
    order = np.argsort(np.asarray(confidences), kind="stable")
    found = []
    for part in np.array_split(order, bins_for(len(confidences))):
        mean = float(np.mean([confidences[place] for place in part]))
        share = bootstrap([float(right[place]) for place in part])
        found.append(Bin(confidence=mean, right=share))
    return found


def bins_for(n: int) -> int:
    """How many bins ``n`` judgements are put into."""
    return max(1, min(BINS, n // LEAST_IN_BIN))
