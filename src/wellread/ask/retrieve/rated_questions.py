"""Past questions that experts rated here: found by similarity and formatted for prompts.

All question vectors share one array, so that a new question is compared with every one of them.
Each question is embedded once; a change of embedder recomputes all vectors.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from wellread.identity import Everything, sentence_hash, sentence_words
from wellread.kb import KnowledgeBase
from wellread.kb.seen_by import edited_by
from wellread.store.catalogue.feedback_records import places_quoted, supporting_places
from wellread.store.schema.stored_values import BetterCitation, Feedback
from wellread.text.sentences import sentence_spans
from wellread.types import DocumentFacts, PastQuestion, SentenceFeedback
from wellread.values.answers import Answer

AT_ONCE = 64  # that are read whole, the nearest first


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedAnswer:
    """An answer of this knowledge base with an expert's word on it.

    Attributes:
        similarity: cosine of its question and the new one.
        documents: what the answer and the expert's word rest on, as far as it is there.
        gone: whether some of that is not there any more.
    """

    given: Feedback
    answer: Answer
    similarity: float
    documents: tuple[DocumentFacts, ...]
    gone: bool = False

    @property
    def collections(self) -> tuple[str, ...]:
        """Those that its documents are in."""
        return tuple(dict.fromkeys(one.collection for one in self.documents))

    @property
    def places(self) -> list[BetterCitation]:
        """The places that the expert's word rests on."""
        return supporting_places(self.given, self.answer)

    def inside(self, collections: Sequence[str]) -> bool:
        """Whether all that it says and rests on is known to be in one of ``collections``."""
        if not collections:
            return True
        known = bool(self.documents) and not self.gone
        return known and set(self.collections) <= set(collections)


@dataclass(frozen=True, slots=True)
class _Vectors:
    ids: tuple[str, ...]
    rows: NDArray[np.float32]


def rated_answers(
    kb: KnowledgeBase, question: str, least: float, collections: Sequence[str]
) -> Iterator[RatedAnswer]:
    """The answers to questions like ``question``, with what an expert said, the nearest first.

    One that two experts judged comes twice. Whether it counts still is settled first.

    Args:
        least: cosine of the two questions.
        collections: a hard border; none means all.
    """
    held = _vectors.of(kb)
    if not held.ids:
        return
    cosines = held.rows @ kb.embedder.embed([question], "query")[0]
    order = np.argsort(-cosines, kind="stable")[:AT_ONCE]
    near = {held.ids[at]: float(cosines[at]) for at in order.tolist() if cosines[at] >= least}
    judged = kb.catalogue.feedback.named(near)
    for known, similarity in near.items():
        answer = kb.catalogue.feedback.answer(judged[known].answer_id) if known in judged else None
        if answer is None:  # it went with its session since
            continue
        [given] = kb.catalogue.expiry.settle([judged[known]])
        made = _made(kb, given, answer, similarity)
        if made.inside(collections):
            yield made


def past_question(rated: RatedAnswer) -> PastQuestion:
    """The rated answer in the form of a past question that came with the sources."""
    given, answer = rated.given, rated.answer
    judged = {one.sentence: one for one in given.sentences}
    feedback = tuple(
        SentenceFeedback(
            score=None if one.score is None else round(one.score),
            explanation=one.explanation,
            harmful=bool(one.harmful),
            content_issue=bool(one.content_issue),
        )
        if (one := judged.get(place))
        else SentenceFeedback()
        for place in range(len(answer.sentences))
    )
    urls = {one.id: one.url or one.uri for one in rated.documents}
    better = [urls.get(one.document_id, "") for one in given.citations]
    return PastQuestion(
        question=given.question,
        answer=" ".join(" ".join(one.text.split()) for one in answer.sentences) or answer.text,
        citation_url=next((one.url for one in answer.citations), ""),
        score=None if given.score is None else round(given.score),
        expert_citation_url=next(iter(better), ""),
        sentences=feedback,
    )


def _made(kb: KnowledgeBase, given: Feedback, answer: Answer, similarity: float) -> RatedAnswer:
    named = [one.document_id for one in (*places_quoted(answer), *supporting_places(given, answer))]
    named += [known for row in (answer.table.documents if answer.table else ()) for known in row]
    wanted = list(dict.fromkeys(named))
    facts = kb.catalogue.facts(wanted)
    return RatedAnswer(
        given=given,
        answer=answer,
        similarity=round(similarity, 4),
        documents=tuple(facts[known] for known in wanted if known in facts),
        gone=len(facts) < len(wanted),
    )


def _read(kb: KnowledgeBase) -> _Vectors:
    questions = kb.catalogue.feedback.questions()
    if not questions:
        return _Vectors((), np.zeros((0, 0), dtype=np.float32))
    embedder = kb.embedder
    missing = [one for one in questions if not one.vector or one.embedder != embedder.identity]
    fresh: dict[str, bytes] = {}
    if missing:
        made = embedder.embed([one.question for one in missing], "query")
        fresh = {
            one.feedback_id: row.astype(np.float32).tobytes()
            for one, row in zip(missing, made, strict=True)
        }
        kb.catalogue.feedback.store_vectors(fresh, embedder.identity)
    rows = [
        np.frombuffer(fresh.get(one.feedback_id, one.vector), dtype=np.float32) for one in questions
    ]
    return _Vectors(tuple(one.feedback_id for one in questions), np.stack(rows))


# --- how a prompt shows one ----------------------------------------------------------------------

ANSWER_CHARACTERS = 400
LEFT_OUT = "[left out: an expert flagged it as harmful]"


def question_lines(past: PastQuestion, correction: str, flagged: FlaggedSentences) -> list[str]:
    """Every field on a line of its own: a field cannot pose as the next one.

    Args:
        correction: what the answer should say instead; may be empty.
        flagged: sentences that are not shown, though the judgement of them is.
    """
    lines = [f"Q: {_flat(past.question)}"]
    if past.flow:
        lines.append(f"Flow: {' | '.join(map(_flat, past.flow))}")
    lines.append(f"A: {shown_text(past.answer, flagged)}")
    if past.score is not None:
        lines.append(f"Score: {past.score}/100")
    judged = [
        f"- Sentence {number}: {said}"
        for number, sentence in enumerate(past.sentences, 1)
        if (said := judgement(sentence))
    ]
    if judged:
        lines += ["Feedback:", *judged]
    if correction:
        lines.append(f"Correction: {shown_text(correction, flagged)}")
    link = past.expert_citation_url or past.citation_url
    if link:
        lines.append(f"Citation: {_flat(link)}")
    return lines


def judgement(sentence: SentenceFeedback) -> str:
    """The expert's verdict on a sentence, with its flags; empty without a verdict."""
    parts = [f"{sentence.score}/100"] if sentence.score is not None else []
    parts += [_flat(sentence.explanation)] if sentence.explanation.strip() else []
    parts += ["harmful: true"] if sentence.harmful else []
    parts += ["content issue: true"] if sentence.content_issue else []
    return "; ".join(parts)


def shown_text(
    text: str, flagged: FlaggedSentences, judged: Sequence[SentenceFeedback] = ()
) -> str:
    """``text`` on one line, cut at about 400 characters, without flagged sentences."""
    return _cut(_flat(without_flagged(text, flagged, judged)))


def without_flagged(
    text: str, flagged: FlaggedSentences, judged: Sequence[SentenceFeedback] = ()
) -> str:
    """``text`` with ``LEFT_OUT`` in place of each sentence that is flagged."""
    own = {at for at, one in enumerate(judged) if one.harmful}
    if not flagged and not own:
        return text
    said = [span.of(text) for span in sentence_spans(text)]
    harmful = flagged.places(said) | own
    return " ".join(LEFT_OUT if at in harmful else one for at, one in enumerate(said))


def _cut(text: str) -> str:
    """At most about 400 characters, whole words, with an ellipsis when something is missing."""
    if len(text) <= ANSWER_CHARACTERS:
        return text
    head = text[:ANSWER_CHARACTERS]
    whole = head.rsplit(" ", 1)[0] if text[ANSWER_CHARACTERS] != " " else head
    return whole.rstrip(" ,;:") + "…"


def _flat(text: str) -> str:
    return " ".join(text.split())


SHORTEST = 4  # words of a sentence that is also found inside another
Words = tuple[str, ...]
T = TypeVar("T")


class FeedbackCache(Generic[T]):
    """A cache per knowledge base and read scope, valid until the feedback changes.

    Args:
        make: reads the value from the catalogue.
        hangs_on: what it hangs on beside the feedback.
    """

    def __init__(
        self,
        make: Callable[[KnowledgeBase], T],
        hangs_on: Callable[[KnowledgeBase], str] = lambda _: "",
    ) -> None:
        self._make = make
        self._hangs_on = hangs_on
        self._values: WeakKeyDictionary[object, tuple[str, T]] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def of(self, kb: KnowledgeBase) -> T:
        """The cached value, recomputed when the feedback has changed."""
        # The stamp is read first: a change in between makes the value be read again, never late.
        stamp = f"{kb.catalogue.feedback.stamp()} {self._hangs_on(kb)}"
        known = self._values.get(kb.cache_key)
        if known is not None and known[0] == stamp:
            return known[1]
        with self._lock:
            made = self._make(kb)
            self._values[kb.cache_key] = (stamp, made)
            return made


@dataclass(frozen=True, slots=True)
class FlaggedSentences:
    """Flagged sentences, to compare with the sentences of an answer before delivery."""

    hashes: frozenset[str] = frozenset()
    inside: Mapping[str, tuple[Words, ...]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.hashes)

    def holds(self, text: str) -> bool:
        """Whether ``text`` contains a flagged sentence."""
        return bool(self.places([text]))

    def places(self, texts: Sequence[str]) -> frozenset[int]:
        """Which of ``texts``, that follow each other, say one of them, be it together."""
        if not self.hashes:
            return frozenset()
        found = {at for at, text in enumerate(texts) if sentence_hash(text) in self.hashes}
        each = [sentence_words(text) for text in texts]
        said = tuple(word for words in each for word in words)
        owners = [at for at, words in enumerate(each) for _ in words]
        for flagged in self._candidates(said):
            for start in _runs(flagged, said):
                found.update(owners[start : start + len(flagged)])
        return frozenset(found)

    def without(self, hashes: Collection[str]) -> FlaggedSentences:
        """The flagged sentences except these."""
        left = {
            word: tuple(one for one in some if sentence_hash(" ".join(one)) not in hashes)
            for word, some in self.inside.items()
        }
        return FlaggedSentences(hashes=self.hashes.difference(hashes), inside=left)

    def free(self, texts: Iterable[str]) -> tuple[str, ...]:
        """The ``texts`` that contain no flagged sentence."""
        return tuple(text for text in texts if not self.holds(text))

    def _candidates(self, words: Words) -> list[Words]:
        said = set(words)
        near = [one for word in said & self.inside.keys() for one in self.inside[word]]
        return [one for one in near if said.issuperset(one)]


def _runs(flagged: Words, said: Words) -> list[int]:
    """The spans of ``text`` that repeat ``flagged`` word for word."""
    size = len(flagged)
    return [start for start in range(len(said) - size + 1) if said[start : start + size] == flagged]


def flagged_from(sentences: Mapping[str, str]) -> FlaggedSentences:
    """Flagged sentences by hash; their words may be empty."""
    long = {words for words in map(sentence_words, sentences.values()) if len(words) >= SHORTEST}
    often = Counter(word for words in long for word in set(words))
    inside: dict[str, list[Words]] = defaultdict(list)
    for words in sorted(long):
        inside[min(words, key=lambda word: (often[word], word))].append(words)
    return FlaggedSentences(
        hashes=frozenset(sentences), inside={word: tuple(some) for word, some in inside.items()}
    )


NOTHING_FLAGGED = FlaggedSentences()


@dataclass(frozen=True, slots=True)
class _Flags:
    """Who flagged what; ``joined``: what some of them flagged together, once it was asked for."""

    by: Mapping[str, Mapping[str, str]]
    joined: dict[frozenset[str], FlaggedSentences] = field(default_factory=dict)

    def of(self, givers: frozenset[str]) -> FlaggedSentences:
        made = self.joined.get(givers)
        if made is None:
            sentences: dict[str, str] = {}
            for giver in sorted(givers):
                for key, words in self.by[giver].items():
                    sentences[key] = sentences.get(key) or words
            made = self.joined[givers] = flagged_from(sentences)
        return made


_held = FeedbackCache(lambda kb: _Flags(kb.catalogue.feedback.harmful_by()))


def flagged_sentences(kb: KnowledgeBase, collections: Iterable[str]) -> FlaggedSentences:
    """Sentences flagged by users who may edit all of these collections.

    Flags on answers without a known collection count only from users who may edit everything.
    """
    flags, names = _held.of(kb), frozenset(collections)
    givers = (giver for giver in flags.by if _covers(edited_by(kb, giver), names))
    return flags.of(frozenset(givers)) if flags.by else NOTHING_FLAGGED


def flagged_of_documents(
    kb: KnowledgeBase, documents: Sequence[Collection[str]]
) -> list[FlaggedSentences]:
    """What must not be said in texts that rest on these documents, for each text."""
    if not _held.of(kb).by:
        return [NOTHING_FLAGGED] * len(documents)
    facts = kb.catalogue.facts({known for some in documents for known in some})
    within = [
        frozenset(facts[known].collection for known in some if known in facts) for some in documents
    ]
    found = {names: flagged_sentences(kb, names) for names in set(within)}
    return [found[names] for names in within]


def flag_rights_stamp(kb: KnowledgeBase) -> str:
    """A stamp that changes when the edit rights of flagging users change; usually empty."""
    reaches = ((giver, edited_by(kb, giver)) for giver in sorted(_held.of(kb).by))
    return "; ".join(
        f"{giver}: {'*' if isinstance(reach, Everything) else sorted(reach)}"
        for giver, reach in reaches
    )


def _covers(edits: frozenset[str] | Everything, names: frozenset[str]) -> bool:
    return isinstance(edits, Everything) or (bool(names) and names <= edits)


_vectors = FeedbackCache(_read, lambda kb: kb.embedder.identity)
