"""Counts what users ask most: repeated questions, question types, topics and words."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from wellread.identity import sentence_hash
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.answer_figures import AskedQuestion, TimeRange
from wellread.text.parsed import parse
from wellread.values.answers import NOBODY

MAX_ROWS = 20  # rows of each list


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """The number of questions about something, and how many of them were not answered."""

    name: str
    asked: int
    unanswered: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OftenAsked:
    """A question that was asked several times.

    Attributes:
        answer_id: the most recent answer.
    """

    question: str
    asked: int
    unanswered: int
    last_at: datetime
    answer_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionPatterns:
    """Statistics of the questions of a period, each list with the most asked first.

    Attributes:
        topics: collections of the cited or, without an answer, the nearest documents.
        taxonomy: the same by dimension and value.
    """

    asked: int
    unanswered: int
    often: tuple[OftenAsked, ...]
    types: tuple[Count, ...]
    topics: tuple[Count, ...]
    taxonomy: tuple[Count, ...]
    terms: tuple[Count, ...]


def question_patterns(
    kb: KnowledgeBase, owner: str, since: datetime | None = None, until: datetime | None = None
) -> QuestionPatterns:
    """The patterns of one owner's questions between ``since`` and ``until``."""
    counts, within = kb.catalogue.question_counts, TimeRange(since=since, until=until)
    questions = counts.asked(owner, within)
    unanswered = {item.id for item in questions if item.answered_by == NOBODY}
    collections: defaultdict[str, set[str]] = defaultdict(set)
    values: defaultdict[str, set[str]] = defaultdict(set)
    for answer_id, collection, taxonomy in counts.topics(owner, within):
        collections[collection].add(answer_id)
        for dimension, dimension_values in taxonomy.items():
            for value in dimension_values:
                values[f"{dimension}: {value}"].add(answer_id)
    types: defaultdict[str, set[str]] = defaultdict(set)
    for question in questions:
        types[question.type or "unknown"].add(question.id)
    return QuestionPatterns(
        asked=len(questions),
        unanswered=len(unanswered),
        often=_repeated(questions, unanswered),
        types=_rank_counts(types, unanswered),
        topics=_rank_counts(collections, unanswered),
        taxonomy=_rank_counts(values, unanswered),
        terms=_rank_counts(_terms(questions), unanswered, minimum=2),
    )


def _rank_counts(
    groups: Mapping[str, set[str]], unanswered: set[str], *, minimum: int = 1
) -> tuple[Count, ...]:
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    return tuple(
        Count(name=name, asked=len(ids), unanswered=len(ids & unanswered))
        for name, ids in ordered[:MAX_ROWS]
        if len(ids) >= minimum
    )


def _repeated(questions: Iterable[AskedQuestion], unanswered: set[str]) -> tuple[OftenAsked, ...]:
    """Questions asked more than once, ignoring differences of case and punctuation."""
    same: defaultdict[str, list[AskedQuestion]] = defaultdict(list)
    for question in questions:
        same[sentence_hash(question.question)].append(question)
    repeated = [group for group in same.values() if len(group) > 1]
    repeated.sort(key=lambda group: (-len(group), group[-1].question))
    return tuple(
        OftenAsked(
            question=group[-1].question,
            asked=len(group),
            unanswered=sum(question.id in unanswered for question in group),
            last_at=group[-1].created_at,
            answer_id=group[-1].id,
        )
        for group in repeated[:MAX_ROWS]
    )


def _terms(questions: Iterable[AskedQuestion]) -> dict[str, set[str]]:
    """The ids of the questions with each topical word, by its most frequent spelling."""
    ids_of_stem: defaultdict[str, set[str]] = defaultdict(set)
    spellings: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for question in questions:
        text = parse(question.question)
        topic_stems = set(text.topic_stems)
        for word in text.words:
            for stem in parse(word).stem_set & topic_stems:
                ids_of_stem[stem].add(question.id)
                spellings[stem][word] += 1
    best = {
        stem: min(words, key=lambda word: (-words[word], word)) for stem, words in spellings.items()
    }
    return {best[stem]: ids for stem, ids in ids_of_stem.items()}
