"""Scores evaluation cases by ranking, answer, citations and confidence, with intervals.

A ranking is a sequence of ranks, best first; each rank has the names of the targets that its item
meets (a document meets itself, a passage every gold span that it overlaps). A case that failed or
found nothing gets the worst value of each of its measures; it is never left out.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from wellread.ask.aggregate.query import AggregateResult
from wellread.ask.retrieve.ranking import Found
from wellread.evaluation.cases import Case, Targets
from wellread.values.answers import CATALOGUE, EXTRACTIVE, NOBODY, Answer, Sentence
from wellread.values.question import QuestionType

Ranking = Sequence[frozenset[str]]
Grades = Mapping[str, float]
Measure = Callable[[Ranking, Grades], float]

_ARTICLES = re.compile(r"\b(a|an|the)\b")
# ASCII punctuation as in SQuAD's script, plus typographic quotes and dashes.
_PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation + "“”‘’„«»–—…", " "))


# --- rankings --------------------------------------------------------------------------------


def hit_rate(ranking: Ranking, grades: Grades, depth: int) -> float:
    """1 when one of the first ``depth`` ranks meets a target, else 0."""
    return float(any(targets & grades.keys() for targets in ranking[:depth]))


def recall(ranking: Ranking, grades: Grades, depth: int) -> float:
    """The share of the targets that the first ``depth`` ranks meet; 0 if there is no target."""
    met = _targets_met(ranking[:depth]) & grades.keys()
    return len(met) / len(grades) if grades else 0.0


def all_met(ranking: Ranking, grades: Grades, depth: int) -> float:
    """1 when the first ``depth`` ranks meet all targets, else 0."""
    return float(bool(grades) and grades.keys() <= _targets_met(ranking[:depth]))


def ndcg(ranking: Ranking, grades: Grades, depth: int) -> float:
    """Normalised discounted cumulative gain, linear gain and log2 discount.

    Järvelin and Kekäläinen, ACM TOIS 20(4), 2002, as trec_eval and BEIR compute it. A target
    counts at the first rank that meets it.

    One rank may meet several targets (a passage over two gold spans). They count as if they had
    consecutive ranks of their own, so that the measure never exceeds 1.
    """
    seen: set[str] = set()
    gain = 0.0
    next_free = 0
    for number, targets in enumerate(ranking[:depth]):
        new = sorted((grades[name] for name in targets - seen if name in grades), reverse=True)
        seen |= targets
        start = max(number, next_free)
        next_free = min(start + len(new), depth)
        positions = range(start, next_free)
        gain += sum(
            grade / math.log2(position + 2) for position, grade in zip(positions, new, strict=False)
        )
    ideal = sum(
        grade / math.log2(position + 2)
        for position, grade in enumerate(sorted(grades.values(), reverse=True)[:depth])
    )
    return gain / ideal if ideal > 0 else 0.0


def _targets_met(ranks: Ranking) -> set[str]:
    return set().union(*ranks)


# --- texts -----------------------------------------------------------------------------------


def normalise(text: str) -> str:
    """``text`` in lower case, without punctuation and articles, with single spaces.

    As the evaluation script of SQuAD does (Rajpurkar et al., EMNLP 2016), except that punctuation
    separates words instead of joining them ("tool-library" is two words).
    """
    plain = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", plain).split())


def contains(text: str, accepted: Sequence[str]) -> float:
    """1 when ``text`` contains an accepted answer as whole words, both normalised; else 0."""
    padded = f" {normalise(text)} "
    return float(any(plain and f" {plain} " in padded for plain in map(normalise, accepted)))


# --- citations -------------------------------------------------------------------------------


def citation_precision(citations: Sequence[frozenset[str]]) -> float:
    """The share of the citations that meet a target; 0 if there is no citation."""
    return sum(bool(met) for met in citations) / len(citations) if citations else 0.0


def citation_recall(citations: Sequence[frozenset[str]], targets: frozenset[str]) -> float:
    """The share of the targets that a citation meets; 0 if there is no target."""
    return len(_targets_met(citations) & targets) / len(targets) if targets else 0.0


NDCG_DEPTH = 10
WORST_BRIER = 1.0
LESS_IS_BETTER = frozenset({"brier", "failed", "seconds_p50", "seconds_p90"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The result of running one case.

    Attributes:
        found: None when the case failed; ``answer``: also None when only retrieval ran.
        failed: the reason of a failure; else empty.
        seconds: the time of each step and of the ``total``.
    """

    found: Found | None = None
    type: QuestionType | None = None
    answer: Answer | None = None
    failed: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def answered(self) -> bool:
        """Whether there is an answer other than a refusal or an empty list."""
        return (
            self.answer is not None
            and self.answer.answered_by != NOBODY
            and not _is_empty_list(self.answer)
        )

    @property
    def confidence(self) -> float | None:
        """The confidence that the answer is right.

        For an empty list it is inverted, because certainty that nothing exists is no answer.
        """
        if self.answer is None:
            return None
        confidence = self.answer.confidence.score
        return 1 - confidence if _is_empty_list(self.answer) else confidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """One case with its scores by measure.

    Attributes:
        right: whether the answer was right; None when the case does not define it.
        confidence: the confidence of the answer, if there is one.
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
    """Score ``case`` by every measure that applies to it."""
    scores = _retrieval_scores(targets, run.found, depths)
    if case.type is not None:
        scores["type_accuracy"] = float(run.type == case.type)
    right = None
    if not retrieval_only:
        right = _is_right(case, targets, run)
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
    """The names of all measures, in report order."""
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
        hits = found.hits if found else ()
        ranking = [targets.spans_met_by(hit.document.id, hit.passage.span) for hit in hits]
        by_measure = _ranking_scores(ranking, targets.span_grades, depths)
        scores |= {f"span_{name}": value for name, value in by_measure.items()}
    return scores


def _documents(found: Found) -> list[str]:
    """The document ids of a catalogue result's rows, then those of the passages."""
    rows = found.rows if isinstance(found, AggregateResult) else ()
    listed = [document_id for row in rows for document_id in row.document_ids]
    return listed + [hit.document.id for hit in found.hits]


def _ranking_scores(ranking: Ranking, grades: Grades, depths: Sequence[int]) -> dict[str, float]:
    return {
        "hit@1": hit_rate(ranking, grades, 1),
        **{f"recall@{k}": recall(ranking, grades, k) for k in depths},
        **{f"all@{k}": all_met(ranking, grades, k) for k in depths},
        f"ndcg@{NDCG_DEPTH}": ndcg(ranking, grades, NDCG_DEPTH),
    }


def _answer_scores(case: Case, targets: Targets, run: Run, right: bool | None) -> dict[str, float]:
    expected = case.expected
    scores: dict[str, float] = {}
    if expected.answer:
        scores["answer_match"] = contains(_plain_text(run), expected.answer)
    if targets.grades:
        met = _citations_met(targets, run)
        expected_names = frozenset(targets.span_grades or targets.grades)
        scores["citation_precision"] = citation_precision(met)
        scores["citation_recall"] = citation_recall(met, expected_names)
    if expected.answerable is not None:
        agrees = run.answered == expected.answerable
        scores["refusal_accuracy"] = float(agrees and not run.failed)
    if right is not None:
        if expected.answerable:
            scores["answer_right"] = float(right)
        confidence = run.confidence
        scores["brier"] = WORST_BRIER if confidence is None else brier(confidence, right)
    return scores


def _is_right(case: Case, targets: Targets, run: Run) -> bool | None:
    """Whether the answer contains an accepted string or cites an expected place.

    If the case gives neither, the answer must cite an expected document. A refusal is never right
    here (``refusal_accuracy`` measures refusals). None when the case does not define it.
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
    return bool(targets.span_grades or not expected.answer) and any(_citations_met(targets, run))


def _citations_met(targets: Targets, run: Run) -> list[frozenset[str]]:
    """The targets met by each citation: places if the case expects any, else documents.

    Of an answer of extracts only the first counts, with all that it shows. The nearest passages
    shown with a refusal do not count as citations.
    """
    answer = run.answer
    if answer is None or answer.answered_by == NOBODY:
        return []
    if not targets.span_grades:
        return [targets.met_by(document_id) for document_id in _cited_documents(answer)]
    if answer.answered_by != EXTRACTIVE:
        return [
            targets.spans_met_by(citation.document_id, citation.source_span)
            for citation in answer.citations
        ]
    extract = first_extract(answer)
    documents = {citation.id: citation.document_id for citation in answer.citations}
    places = [(documents[sentence.citations[0]], sentence.verdict.source) for sentence in extract]
    met = [targets.spans_met_by(document_id, span) for document_id, span in places if span]
    return [frozenset[str]().union(*met)] if met else []


def first_extract(answer: Answer) -> tuple[Sentence, ...]:
    """The sentences of the first extract of an extractive answer: what is read as the answer."""
    ends = (at for at, sentence in enumerate(answer.sentences, 1) if not sentence.within)
    return answer.sentences[: next(ends, 0)]


def _cited_documents(answer: Answer) -> list[str]:
    """The cited documents; for a catalogue result the full list, which the text may shorten."""
    if answer.table is None:
        return [citation.document_id for citation in answer.citations]
    return list(dict.fromkeys(document_id for row in answer.table.documents for document_id in row))


def _is_empty_list(answer: Answer) -> bool:
    return answer.answered_by == CATALOGUE and bool(answer.data_gaps)


def _plain_text(run: Run) -> str:
    """The answer's sentences (of extracts the first one's), unmarked; empty for a refusal."""
    answer = run.answer
    if answer is None or not run.answered:
        return ""
    read = first_extract(answer) if answer.answered_by == EXTRACTIVE else answer.sentences
    return " ".join(sentence.text for sentence in read) or answer.text


RESAMPLES = 2_000
SEED = 20_240_501
LEVEL = 0.95
BINS = 10
MIN_BIN_SIZE = 5
MAX_DRAWN_CASES = 4_000_000  # case numbers in memory at a time (32 MB)

Floats = NDArray[np.float64]
# Takes one row of case numbers per resample, returns one figure per resample (NaN: none).
Statistic = Callable[[NDArray[np.int64]], Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A figure over ``n`` cases with its 95 % bootstrap interval."""

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
    """The quantile of ``values`` at ``share`` (0-1), with its interval."""
    cases = np.asarray(values, dtype=np.float64)
    return interval(len(cases), lambda drawn: np.quantile(cases[drawn], share, axis=1))


def paired_difference(first: Sequence[float], second: Sequence[float]) -> Interval:
    """The mean of the differences ``first - second`` by case, with its interval."""
    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} cases cannot be paired")
    return bootstrap([value - other for value, other in zip(first, second, strict=True)])


def percentile(values: Sequence[float], share: float) -> float:
    """The interpolated quantile of ``values`` at ``share`` (0-1); 0 if there are no values."""
    return float(np.quantile(np.asarray(values, dtype=np.float64), share)) if values else 0.0


def interval(n: int, statistic: Statistic) -> Interval:
    """The ``statistic`` of all ``n`` cases, with its interval over resamples.

    Resamples without a value (NaN) are left out.
    """
    if not n:
        return Interval(mean=0.0, low=0.0, high=0.0, n=0)
    generator = np.random.default_rng(SEED)
    rows = max(1, MAX_DRAWN_CASES // n)
    figures: list[Floats] = []
    for start in range(0, RESAMPLES, rows):
        drawn = generator.integers(0, n, size=(min(rows, RESAMPLES - start), n))
        figures.append(statistic(drawn))
    resampled = np.concatenate(figures)
    figure = float(statistic(np.arange(n, dtype=np.int64)[np.newaxis])[0])
    low, high = np.quantile(resampled[~np.isnan(resampled)], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(mean=figure, low=float(low), high=float(high), n=n)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Answers of similar confidence: the mean confidence and the share that was right."""

    confidence: float
    right: Interval


def brier(confidence: float, right: bool) -> float:
    """Squared error of one confidence (Brier, Monthly Weather Review 78, 1950); 0 is best."""
    return (confidence - right) ** 2


def reliability(confidences: Sequence[float], right: Sequence[bool]) -> list[Bin]:
    """The calibration curve in up to ten bins of equal size with at least five answers each."""
    if not confidences:
        return []
    order = np.argsort(np.asarray(confidences), kind="stable")
    bins = []
    for part in np.array_split(order, bin_count(len(confidences))):
        mean = float(np.mean([confidences[index] for index in part]))
        share = bootstrap([float(right[index]) for index in part])
        bins.append(Bin(confidence=mean, right=share))
    return bins


def bin_count(n: int) -> int:
    """The number of calibration bins for ``n`` answers."""
    return max(1, min(BINS, n // MIN_BIN_SIZE))
