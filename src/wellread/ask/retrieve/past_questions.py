"""Past questions like the new one, with what experts said about their answers.

The nearest passages of past questions are candidates; what counts is question against question,
since a passage holds the answer too. A past follow-up is compared in words that need no earlier
turn. A judgement expires when a source that it rests on has changed since: it is shown as
expired, and no prompt holds it. Past questions come with the sources (``qa`` documents), or were
asked here and judged since (``learned``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache, lru_cache, partial
from typing import Literal

from wellread.ask.retrieve.rated_questions import (
    NOTHING_FLAGGED,
    FlaggedSentences,
    RatedAnswer,
    flagged_sentences,
    judgement,
    past_question,
    question_lines,
    rated_answers,
)
from wellread.ask.retrieve.search import search
from wellread.ask.understand.question_parts import expected_answer
from wellread.ask.understand.rewrite import Turn, make_standalone
from wellread.ask.understand.vocabulary import Vocabulary, vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.documents.collection_records import StoredPastQuestion
from wellread.store.catalogue.feedback_records import corrects
from wellread.text.english import (
    AROUND_A_QUESTION,
    AUXILIARIES,
    BE,
    BETWEEN_SIDES,
    DETERMINERS,
    OF_THE_MOMENT,
    PREPOSITIONS,
    QUESTION_WORDS,
    STOP_WORDS,
    SYNONYMS,
)
from wellread.text.parsed import parse
from wellread.text.periods import RELATIVE, expressions_of
from wellread.text.words import stem
from wellread.types import DocumentFacts, Filters, PastQuestion

LEAST = 0.8  # cosine of two questions that mean the same
_PIVOTS = PREPOSITIONS | BETWEEN_SIDES
_SUBJECTS = {"me": "i", "him": "he", "her": "she", "them": "they", "us": "we"}
_ACTING = frozenset(_SUBJECTS.values())
_BEFORE_A_NAME = DETERMINERS | {"my", "their", "his", "its", "your", "our", "this", "that"}
_CLAUSE = re.compile(r"(?<=\w),? (?:when|whenever|where|if)\b", re.IGNORECASE)
_PRICE = re.compile(r"\bhow much (?:is|are|was|were|for)\b(?!.*\bcosts?\b)", re.IGNORECASE)
_ASKING = frozenset({"who", "whose", "when", "where", "why"})
_PAST_OR_COMING = frozenset({"was", "were", "did", "had", "will"})
_OPENERS = QUESTION_WORDS | AUXILIARIES | BE
_SOME_DAY = date(2001, 5, 16)


def is_same_question(asked: str, past: str, similarity: float) -> bool:
    """Whether the two questions mean the same; ``similarity`` is their cosine.

    Embeddings of single words do not separate synonyms from opposites or siblings (red and blue),
    so synonyms come from a word list.
    """
    if similarity < LEAST:
        return False
    one, other = _read(asked), _read(past)
    if one.exact != other.exact or one.of_the_moment or _other_kind(one, other):
        return False
    if Counter(word for word, _ in one.words) != Counter(word for word, _ in other.words):
        return False
    if one.dangling and other.dangling and one.dangling != other.dangling:
        return False
    if len(one.acting) > 1 < len(other.acting) and one.acting != other.acting:
        return False
    return _in_order(one, other) or _by_pivot(one) == _by_pivot(other)


@dataclass(frozen=True, slots=True)
class _Reading:
    """The features of a question that are compared.

    Attributes:
        kind: what kind of thing answers it.
        asking: its words for that ("who", "when").
        polar: whether yes or no answers it.
        words: what its words mean that say something, in order, each with the preposition before.
        acting: who acts on whom, as far as pronouns tell.
        dangling: prepositions that nothing follows ("turn it off").
        exact: negations, amounts, the time of its verbs.
        of_the_moment: whether its answer is another one tomorrow.
    """

    kind: str
    asking: frozenset[str]
    polar: bool
    words: tuple[tuple[str, str], ...]
    acting: tuple[str, ...]
    dangling: frozenset[str]
    exact: tuple[object, ...]
    of_the_moment: bool


@lru_cache(maxsize=1_000)
def _read(question: str) -> _Reading:
    text = parse(question)
    said = [_SUBJECTS.get(token.plain, token.plain) for token in text.tokens]
    words, dangling = _placed(said)
    if _PRICE.search(question):  # "How much is a kayak?" asks what it costs
        words.append((_meaning("cost"), ""))
    moving = any(one.form in RELATIVE for one in expressions_of(question, _SOME_DAY))
    return _Reading(
        kind=expected_answer(_asking(question)),
        asking=_ASKING & frozenset(said),
        polar=bool(said) and said[0] in BE | AUXILIARIES | {"has", "have", "had"},
        words=tuple(words),
        acting=tuple(word for word in said if word in _ACTING),
        dangling=dangling,
        exact=(
            text.negations,
            frozenset((each.value, each.unit) for each in text.quantities if each.unit),
            _PAST_OR_COMING.isdisjoint(said),
        ),
        of_the_moment=moving or not OF_THE_MOMENT.isdisjoint(said),
    )


def _placed(said: Sequence[str]) -> tuple[list[tuple[str, str]], frozenset[str]]:
    """The words that say something, each with its preposition, and those that none follows."""
    words: list[tuple[str, str]] = []
    dangling: set[str] = set()
    pivot = ""
    for word in said:
        if word in _PIVOTS:
            pivot = word
            dangling.add(pivot)
        elif word not in STOP_WORDS and word not in AROUND_A_QUESTION:
            words.append((_meaning(word), pivot))
            dangling.discard(pivot)
        elif word not in _BEFORE_A_NAME:
            pivot = ""
    return words, frozenset(dangling)


def _in_order(one: _Reading, other: _Reading) -> bool:
    """Whether the same words follow each other, behind no two different prepositions."""
    return all(
        word == same_word and (pivot == same_pivot or not pivot or not same_pivot)
        for (word, pivot), (same_word, same_pivot) in zip(one.words, other.words, strict=True)
    )


def _by_pivot(reading: _Reading) -> dict[str, list[str]]:
    """The words behind each preposition, and those behind none, in order."""
    found: dict[str, list[str]] = {}
    for word, pivot in reading.words:
        found.setdefault(pivot, []).append(word)
    return found


def _asking(question: str) -> str:
    """The question without a clause that says when or where ("What happens when ...?")."""
    asking, _, _ = _CLAUSE.sub("\0", question, count=1).partition("\0")
    first = parse(asking).words[:1]
    return asking if first and first[0].lower() in _OPENERS else question


def _meaning(word: str) -> str:
    """The representative of the synonyms of ``word``."""
    found = stem(word)
    return _synonyms().get(found, found)


@cache
def _synonyms() -> dict[str, str]:
    return {stem(word): stem(group[0]) for group in SYNONYMS for word in group}


def _other_kind(one: _Reading, other: _Reading) -> bool:
    """Whether the two ask for things of different kinds.

    "Can I ...?" and "What ... cost?" name no kind: they may be "How do I ...?" and "How much ...?".
    """
    if one.asking - other.asking and other.asking - one.asking:
        return True
    if one.kind == other.kind:
        return False
    kinds = {one.kind, other.kind}
    plain = one if one.kind == "other" else other
    return plain.kind != "other" or not ("way" in kinds or ("number" in kinds and not plain.polar))


Comparison = Literal["lt", "lte", "eq"]

CANDIDATES = 64  # past questions, nearest by passage, that are compared word for word


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarityCriteria:
    """The criteria that past questions must meet.

    Attributes:
        threshold: least cosine of the two questions.
        rating: what an expert's score is compared with; None takes every score, also none.
        language: of the past question; empty takes every one.
        collections: a hard border; none means all.
        owner: of questions that were asked here, only theirs; None means everybody's.
    """

    threshold: float = 0.8
    most: int = 3
    rating: int | None = None
    comparison: Comparison = "lt"
    language: str = ""
    collections: tuple[str, ...] = ()
    owner: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarQuestion:
    """A past question similar to the new one.

    Attributes:
        similarity: cosine of the two questions.
        expired: why its feedback counts no more, in words; empty while it does.
        sources: the documents that its citations name, as far as they are there.
        alone: a past follow-up in words that need no earlier turn; else empty, or the question.
        document: that it came in; None when it was asked here.
        rated: the answer that was given here, with an expert's word; None when it came with a
            document.
    """

    past: PastQuestion
    similarity: float
    expired: str = ""
    sources: tuple[str, ...] = ()
    alone: str = ""
    document: DocumentFacts | None = None
    rated: RatedAnswer | None = None

    @property
    def id(self) -> str:
        """Of the document that it came in, else of the feedback."""
        if self.document is not None:
            return self.document.id
        return self.rated.given.id if self.rated else ""

    @property
    def collections(self) -> tuple[str, ...]:
        """Those that what it says comes from."""
        if self.document is not None:
            return (self.document.collection,)
        return self.rated.collections if self.rated else ()

    @property
    def correction(self) -> str:
        """The expert's replacement for the answer or for sentences of it."""
        given = self.rated.given if self.rated else None
        if given is None:
            return ""
        return given.correction or " ".join(
            one.correction for one in given.sentences if one.correction
        )


def default_criteria(kb: KnowledgeBase, collections: tuple[str, ...] = ()) -> SimilarityCriteria:
    """The criteria that the settings define."""
    threshold = kb.settings.features.similar_threshold
    return SimilarityCriteria(threshold=threshold, collections=collections)


def similar_questions(
    kb: KnowledgeBase, question: str, wanted: SimilarityCriteria
) -> list[SimilarQuestion]:
    """The past questions that have an answer and feedback, the most similar first.

    Those that are expired come on top of ``wanted.most``.
    """
    if wanted.most == 0 or not question.strip():
        return []
    near = [
        *_compared(kb, question, _near(kb, question, wanted)),
        *_asked_here(kb, question, wanted),
    ]
    found: list[SimilarQuestion] = []
    room = wanted.most
    for one in sorted(near, key=lambda each: (-each.similarity, each.id)):
        if one.similarity < wanted.threshold or not room:
            break
        found.append(one)
        room -= not one.expired
    return found


def asked_before(
    kb: KnowledgeBase, question: str, collections: tuple[str, ...], rating: int
) -> list[SimilarQuestion]:
    """The past questions that mean the same and whose answers experts rated ``rating`` or more.

    The best comes first, those that are expired too.
    """
    if not question.strip():
        return []
    near = [
        one
        for one in _near(kb, question, SimilarityCriteria(collections=collections))
        if (one.stored.past.score or 0) >= rating
    ]
    asked = {one.document.id: one.alone for one in near}
    found = [
        one
        for one in _compared(kb, question, near)
        if is_same_question(question, asked[one.id], one.similarity)
    ]
    own = _asked_here(kb, question, SimilarityCriteria(threshold=LEAST, collections=collections))
    found += [
        one
        for one in own
        if is_same_question(question, one.past.question, one.similarity)
        and _rated_well(kb, one, rating)
    ]
    return sorted(found, key=lambda one: (-one.similarity, one.id))


def corrections(
    kb: KnowledgeBase, question: str, collections: tuple[str, ...]
) -> list[RatedAnswer]:
    """The answers to the same question that experts put right, the last word first.

    Those that have expired are left out.
    """
    found = [
        rated
        for rated in rated_answers(kb, question, LEAST, collections)
        if corrects(rated.given)
        and not rated.given.expired
        and is_same_question(question, rated.given.question, rated.similarity)
    ]
    return sorted(found, key=lambda one: (one.given.updated_at, one.given.id), reverse=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Near:
    """A past question near a new one; ``alone`` is it in words that need no earlier turn."""

    document: DocumentFacts
    stored: StoredPastQuestion
    alone: str


def _near(kb: KnowledgeBase, question: str, wanted: SimilarityCriteria) -> list[_Near]:
    """Past questions with an answer and the required rating, from the nearest passages."""
    limits = Filters(
        collections=wanted.collections,
        kinds=("qa",),
        languages=(wanted.language,) if wanted.language else (),
    )
    facts = {
        hit.document.id: hit.document for hit in search(kb, question, limits, limit=CANDIDATES)
    }
    stored = {
        known: one
        for known, one in kb.catalogue.past_questions.of(facts).items()
        if _has_expert_verdict(one.past) and _rated(one.past, wanted)
    }
    words = vocabulary_of(kb, wanted.collections) if stored else None
    return [
        _Near(document=facts[known], stored=one, alone=_alone(one.past, words))
        for known, one in stored.items()
        if words is not None
    ]


def _asked_here(
    kb: KnowledgeBase, question: str, wanted: SimilarityCriteria
) -> Iterator[SimilarQuestion]:
    """Past questions that were asked here, the most similar first."""
    for rated in rated_answers(kb, question, wanted.threshold, wanted.collections):
        if wanted.owner not in (None, rated.answer.owner):
            continue
        past = past_question(rated)
        told = corrects(rated.given) or _has_expert_verdict(past)
        spoken = {one.language for one in rated.documents}
        if told and _rated(past, wanted) and (not wanted.language or wanted.language in spoken):
            yield SimilarQuestion(
                past=past,
                similarity=rated.similarity,
                expired=rated.given.expired,
                sources=tuple(one.id for one in rated.documents),
                rated=rated,
            )


def _rated_well(kb: KnowledgeBase, one: SimilarQuestion, rating: int) -> bool:
    """Whether every rating of the answer is good and nobody corrected it."""
    known = one.rated.given.answer_id if one.rated else ""
    judged = [each for each in kb.catalogue.feedback.of_answers([known])[known] if not each.expired]
    scores = [each.score for each in judged if each.score is not None]
    return bool(scores) and min(scores) >= rating and not any(map(corrects, judged))


def _compared(kb: KnowledgeBase, question: str, near: Sequence[_Near]) -> Iterator[SimilarQuestion]:
    """Question against question, the most similar first."""
    if not near:
        return
    vectors = kb.embedder.embed([question, *(one.alone for one in near)], "query")
    cosines = (vectors[1:] @ vectors[0]).tolist()
    scored = zip(cosines, near, strict=True)
    for similarity, one in sorted(scored, key=lambda each: (-each[0], each[1].document.id)):
        expired, sources = _source_state(kb, one.document.collection, one.stored)
        yield SimilarQuestion(
            document=one.document,
            past=one.stored.past,
            similarity=round(similarity, 4),
            expired=expired,
            sources=sources,
            alone=one.alone,
        )


def verified_similar(kb: KnowledgeBase, question: str, collections: tuple[str, ...]) -> str:
    """Prompt text about similar past questions; empty when there are none."""
    if not kb.settings.features.similar_questions:
        return ""
    found = similar_questions(kb, question, default_criteria(kb, collections))
    return formatted(found, partial(flagged_sentences, kb))


def formatted(
    found: Iterable[SimilarQuestion],
    flagged: Callable[[Iterable[str]], FlaggedSentences] = lambda _: NOTHING_FLAGGED,
) -> str:
    """Prompt text about these past questions, without expired ones."""
    return "\n\n".join(
        "\n".join(question_lines(one.past, one.correction, flagged(one.collections)))
        for one in found
        if not one.expired
    )


def _has_expert_verdict(past: PastQuestion) -> bool:
    """Whether the question has an answer and an expert's verdict on it."""
    judged = past.score is not None or any(judgement(sentence) for sentence in past.sentences)
    return bool(past.answer.strip()) and judged


def _rated(past: PastQuestion, wanted: SimilarityCriteria) -> bool:
    if wanted.rating is None:
        return True
    if past.score is None:
        return False
    if wanted.comparison == "eq":
        return past.score == wanted.rating
    return past.score < wanted.rating + (wanted.comparison == "lte")


def _alone(past: PastQuestion, known: Vocabulary) -> str:
    """The past question as a standalone question."""
    turns: Sequence[Turn] = [Turn(question=turn) for turn in past.flow]
    return (
        make_standalone(past.question, turns, known, date.today()).text if turns else past.question
    )


def _source_state(
    kb: KnowledgeBase, collection: str, stored: StoredPastQuestion
) -> tuple[str, tuple[str, ...]]:
    """The source that changed since the feedback, and all sources that still exist.

    Sources that came later or lie outside the collection are ignored.
    """
    links = dict.fromkeys((stored.past.expert_citation_url, stored.past.citation_url))
    sources = [
        source
        for link in filter(None, links)
        for source in kb.catalogue.past_questions.cited(collection, link)
    ]
    changed = ""
    for source in sources:
        if not changed and source.updated_at > max(source.added_at, stored.updated_at):
            day = source.updated_at.date().isoformat()
            changed = f"{source.title} has changed since the feedback ({day})"
    return changed, tuple(dict.fromkeys(source.id for source in sources))
