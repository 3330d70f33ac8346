"""What is asked often: the same questions, their types, topics and words."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from wellread.identity import sentence_hash
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.answer_figures import AskedQuestion, CitedTopic
from wellread.text.parsed import parse
from wellread.values.answers import NOBODY

MOST = 20  # of each list


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How often something was asked about, and how often that was not answered."""

    name: str
    asked: int
    unanswered: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OftenAsked:
    """A question that was asked several times.

    Attributes:
        answer_id: the newest answer.
    """

    question: str
    asked: int
    unanswered: int
    last_at: datetime
    answer_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionPatterns:
    """What the questions of a time have in common, the most asked first.

    Attributes:
        topics: collections of what was cited or, without an answer, is nearest; ``taxonomy``: the
            same by dimension and value.
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
    """The patterns of one owner's questions between two moments."""
    counts = kb.catalogue.question_counts
    return _patterns(counts.asked(owner, since, until), counts.topics(owner, since, until))


def _patterns(asked: Sequence[AskedQuestion], topics: Sequence[CitedTopic]) -> QuestionPatterns:
    unanswered = {one.id for one in asked if one.answered_by == NOBODY}
    collections: defaultdict[str, set[str]] = defaultdict(set)
    values: defaultdict[str, set[str]] = defaultdict(set)
    for one in topics:
        collections[one.collection].add(one.answer_id)
        for dimension, held in one.taxonomy.items():
            for value in held:
                values[f"{dimension}: {value}"].add(one.answer_id)
    types: defaultdict[str, set[str]] = defaultdict(set)
    for each in asked:
        types[each.type or "unknown"].add(each.id)
    return QuestionPatterns(
        asked=len(asked),
        unanswered=len(unanswered),
        often=_often(asked, unanswered),
        types=_counted(types, unanswered),
        topics=_counted(collections, unanswered),
        taxonomy=_counted(values, unanswered),
        terms=_counted(_terms(asked), unanswered, least=2),
    )


def _counted(
    groups: Mapping[str, set[str]], unanswered: set[str], *, least: int = 1
) -> tuple[Count, ...]:
    ordered = sorted(groups.items(), key=lambda each: (-len(each[1]), each[0]))
    return tuple(
        Count(name=name, asked=len(ids), unanswered=len(ids & unanswered))
        for name, ids in ordered[:MOST]
        if len(ids) >= least
    )


def _often(asked: Iterable[AskedQuestion], unanswered: set[str]) -> tuple[OftenAsked, ...]:
    """Questions that differ in case and punctuation only are the same."""
    same: defaultdict[str, list[AskedQuestion]] = defaultdict(list)
    for one in asked:
        same[sentence_hash(one.question)].append(one)
    repeated = [each for each in same.values() if len(each) > 1]
    repeated.sort(key=lambda each: (-len(each), each[-1].question))
    return tuple(
        OftenAsked(
            question=each[-1].question,
            asked=len(each),
            unanswered=sum(one.id in unanswered for one in each),
            last_at=each[-1].created_at,
            answer_id=each[-1].id,
        )
        for each in repeated[:MOST]
    )


def _terms(asked: Iterable[AskedQuestion]) -> dict[str, set[str]]:
    """A word as it is written most often to the answers whose questions have it."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    written: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for one in asked:
        text = parse(one.question)
        own = set(text.topic_stems)
        for word in text.words:
            for stem in parse(word).stem_set & own:
                found[stem].add(one.id)
                written[stem][word] += 1
    best = {
        stem: min(words, key=lambda word: (-words[word], word)) for stem, words in written.items()
    }
    return {best[stem]: ids for stem, ids in found.items()}
