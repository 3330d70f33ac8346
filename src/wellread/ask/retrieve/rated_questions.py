"""Past questions that experts rated here, and the sentences that they flagged as harmful.

All question vectors share one array, so that a new question is compared with every one of them.
Each question is embedded once; a change of embedder recomputes all vectors.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from wellread.identity import Everything, sentence_hash, sentence_words
from wellread.kb import KnowledgeBase
from wellread.kb.seen_by import edited_by
from wellread.store.catalogue.feedback_records import places_quoted, supporting_places
from wellread.store.schema.stored_values import Feedback
from wellread.text.sentences import sentence_spans
from wellread.types import DocumentFacts, PastQuestion, SentenceFeedback
from wellread.values.answers import Answer

AT_ONCE = 64  # that are read whole, the nearest first


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedAnswer:
    """An answer of this knowledge base with an expert's feedback.

    ``similarity`` is the cosine of its question and the new one; ``documents`` are the existing
    ones that the answer and the feedback rest on.
    """

    given: Feedback
    answer: Answer
    similarity: float
    documents: tuple[DocumentFacts, ...]

    @property
    def collections(self) -> tuple[str, ...]:
        """The collections of its documents."""
        return tuple(dict.fromkeys(document.collection for document in self.documents))


def rated_answers(
    kb: KnowledgeBase, question: str, least: float, collections: Sequence[str]
) -> Iterator[RatedAnswer]:
    """The answers to questions like ``question``, with an expert's feedback, the nearest first.

    One that two experts judged comes twice. Whether feedback still counts is settled first.
    """
    ids, vectors = _vectors.of(kb)
    if not ids:
        return
    cosines = vectors @ kb.embedder.embed([question], "query")[0]
    order = np.argsort(-cosines, kind="stable")[:AT_ONCE]
    near = {ids[at]: float(cosines[at]) for at in order.tolist() if cosines[at] >= least}
    judged = kb.catalogue.feedback.named(near)
    for name, similarity in near.items():
        answer = kb.catalogue.feedback.answer(judged[name].answer_id) if name in judged else None
        if answer is None:  # it was removed with its session
            continue
        [given] = kb.catalogue.expiry.settle([judged[name]])
        places = (*places_quoted(answer), *supporting_places(given, answer))
        named = [place.document_id for place in places]
        named += chain(*(answer.table.documents if answer.table else ()))
        wanted = list(dict.fromkeys(named))
        facts = kb.catalogue.facts(wanted)
        rated = RatedAnswer(
            given=given,
            answer=answer,
            similarity=round(similarity, 4),
            documents=tuple(facts[document] for document in wanted if document in facts),
        )
        whole = wanted and len(facts) == len(wanted)
        if not collections or (whole and set(rated.collections) <= set(collections)):
            yield rated


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


def _read_vectors(kb: KnowledgeBase) -> tuple[tuple[str, ...], NDArray[np.float32]]:
    """The ids of all feedback, and the vectors of its questions."""
    questions = kb.catalogue.feedback.questions()
    if not questions:
        return (), np.zeros((0, 0), dtype=np.float32)
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
    return tuple(one.feedback_id for one in questions), np.stack(rows)


# --- how a prompt shows one ----------------------------------------------------------------------

ANSWER_CHARACTERS = 400
LEFT_OUT = "[left out: an expert flagged it as harmful]"


def question_lines(past: PastQuestion, correction: str, flagged: FlaggedSentences) -> list[str]:
    """Every field on a line of its own: a field cannot pose as the next one."""
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
    """A cache per knowledge base and read scope, valid until the feedback changes."""

    def __init__(
        self,
        make: Callable[[KnowledgeBase], T],
        depends_on: Callable[[KnowledgeBase], str] = lambda _: "",
    ) -> None:
        self._make = make
        self._depends_on = depends_on
        self._values: WeakKeyDictionary[object, tuple[str, T]] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def of(self, kb: KnowledgeBase) -> T:
        """The cached value, recomputed when the feedback has changed."""
        # The stamp is read first: a change in between makes the value be read again, never late.
        stamp = f"{kb.catalogue.feedback.stamp()} {self._depends_on(kb)}"
        cached = self._values.get(kb.cache_key)
        if cached is not None and cached[0] == stamp:
            return cached[1]
        with self._lock:
            made = self._make(kb)
            self._values[kb.cache_key] = (stamp, made)
            return made


@dataclass(frozen=True, slots=True)
class FlaggedSentences:
    """Sentences flagged as harmful, to compare with those of an answer before delivery.

    ``words`` maps their hashes to their words; a short or forgotten sentence has none, and is only
    found as a whole.
    """

    words: Mapping[str, Words] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.words)

    def holds(self, text: str) -> bool:
        """Whether ``text`` contains a flagged sentence."""
        return bool(self.places([text]))

    def places(self, texts: Sequence[str]) -> frozenset[int]:
        """Which of ``texts``, that follow each other, repeat a flagged sentence, even together."""
        if not self.words:
            return frozenset()
        harmful = {at for at, text in enumerate(texts) if sentence_hash(text) in self.words}
        owners = [(word, at) for at, text in enumerate(texts) for word in sentence_words(text)]
        spoken = tuple(word for word, _ in owners)
        vocabulary = frozenset(spoken)
        for flagged in filter(vocabulary.issuperset, filter(None, self.words.values())):
            for start in range(len(spoken) - len(flagged) + 1):
                if spoken[start : start + len(flagged)] == flagged:
                    harmful.update(at for _, at in owners[start : start + len(flagged)])
        return frozenset(harmful)

    def without(self, hashes: Collection[str]) -> FlaggedSentences:
        """The flagged sentences except these."""
        return FlaggedSentences(
            {key: words for key, words in self.words.items() if key not in hashes}
        )

    def free(self, texts: Iterable[str]) -> tuple[str, ...]:
        """The ``texts`` that contain no flagged sentence."""
        return tuple(text for text in texts if not self.holds(text))


def flagged_from(sentences: Mapping[str, str]) -> FlaggedSentences:
    """Flagged sentences by hash; their words may be empty."""
    words = {key: sentence_words(text) for key, text in sentences.items()}
    return FlaggedSentences(
        {key: some if len(some) >= SHORTEST else () for key, some in words.items()}
    )


NOTHING_FLAGGED = FlaggedSentences()


def flagged_sentences(kb: KnowledgeBase, collections: Iterable[str]) -> FlaggedSentences:
    """Sentences flagged by users who may edit all of these collections.

    Flags on answers without a known collection count only from users who may edit everything.
    """
    flags, joined = _flags.of(kb)
    names = frozenset(collections)
    givers = tuple(sorted(giver for giver in flags if _covers(edited_by(kb, giver), names)))
    if givers not in joined:
        sentences: dict[str, str] = {}
        for giver in givers:
            for key, words in flags[giver].items():
                sentences[key] = sentences.get(key) or words
        joined[givers] = flagged_from(sentences)
    return joined[givers]


def flagged_of_documents(
    kb: KnowledgeBase, documents: Sequence[Collection[str]]
) -> list[FlaggedSentences]:
    """The sentences that must not be shown in texts based on these documents, for each text."""
    if not _flags.of(kb)[0]:
        return [NOTHING_FLAGGED] * len(documents)
    facts = kb.catalogue.facts({name for some in documents for name in some})
    within = [
        frozenset(facts[name].collection for name in some if name in facts) for some in documents
    ]
    flagged = {names: flagged_sentences(kb, names) for names in set(within)}
    return [flagged[names] for names in within]


def flag_rights_stamp(kb: KnowledgeBase) -> str:
    """A stamp that changes when the edit rights of flagging users change; usually empty."""
    reaches = ((giver, edited_by(kb, giver)) for giver in sorted(_flags.of(kb)[0]))
    return "; ".join(
        f"{giver}: {'*' if isinstance(reach, Everything) else sorted(reach)}"
        for giver, reach in reaches
    )


def _covers(edits: frozenset[str] | Everything, names: frozenset[str]) -> bool:
    return isinstance(edits, Everything) or (bool(names) and names <= edits)


def _read_flags(
    kb: KnowledgeBase,
) -> tuple[Mapping[str, Mapping[str, str]], dict[tuple[str, ...], FlaggedSentences]]:
    """Each user's flagged sentences by hash, and room for those of several users together."""
    return kb.catalogue.feedback.harmful_by(), {}


_flags = FeedbackCache(_read_flags)
_vectors = FeedbackCache(_read_vectors, lambda kb: kb.embedder.identity)
