"""Finds past questions that experts rated here, and the sentences that they flagged as harmful.

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

MAX_NEAREST = 64  # nearest rated questions whose answers are read


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedAnswer:
    """An answer of this knowledge base with an expert's feedback.

    ``similarity`` is the cosine of its question and the new one; ``documents`` are the existing
    documents that the answer and the feedback cite.
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
    """Yield the answers to similar questions with an expert's feedback, the most similar first.

    An answer that two experts judged comes twice. Feedback that no longer counts is marked first.
    """
    ids, vectors = _vectors.of(kb)
    if not ids:
        return
    cosines = vectors @ kb.embedder.embed([question], "query")[0]
    order = np.argsort(-cosines, kind="stable")[:MAX_NEAREST]
    similarities = {ids[at]: float(cosines[at]) for at in order.tolist() if cosines[at] >= least}
    feedback = kb.catalogue.feedback.named(similarities)
    for key, similarity in similarities.items():
        answer = kb.catalogue.feedback.answer(feedback[key].answer_id) if key in feedback else None
        if answer is None:  # it was removed with its session
            continue
        [given] = kb.catalogue.expiry.settle([feedback[key]])
        places = (*places_quoted(answer), *supporting_places(given, answer))
        cited = [place.document_id for place in places]
        cited += chain(*(answer.table.documents if answer.table else ()))
        document_ids = list(dict.fromkeys(cited))
        facts = kb.catalogue.facts(document_ids)
        rated = RatedAnswer(
            given=given,
            answer=answer,
            similarity=round(similarity, 4),
            documents=tuple(facts[key] for key in document_ids if key in facts),
        )
        complete = document_ids and len(facts) == len(document_ids)
        if not collections or (complete and set(rated.collections) <= set(collections)):
            yield rated


def past_question(rated: RatedAnswer) -> PastQuestion:
    """The rated answer in the form of a past question that came with the sources."""
    given, answer = rated.given, rated.answer
    judged = {judgement.sentence: judgement for judgement in given.sentences}
    feedback = tuple(
        SentenceFeedback(
            score=None if sentence.score is None else round(sentence.score),
            explanation=sentence.explanation,
            harmful=bool(sentence.harmful),
            content_issue=bool(sentence.content_issue),
        )
        if (sentence := judged.get(index))
        else SentenceFeedback()
        for index in range(len(answer.sentences))
    )
    urls = {document.id: document.url or document.uri for document in rated.documents}
    better_urls = [urls.get(citation.document_id, "") for citation in given.citations]
    texts = (" ".join(sentence.text.split()) for sentence in answer.sentences)
    return PastQuestion(
        question=given.question,
        answer=" ".join(texts) or answer.text,
        citation_url=next((citation.url for citation in answer.citations), ""),
        score=None if given.score is None else round(given.score),
        expert_citation_url=next(iter(better_urls), ""),
        sentences=feedback,
    )


def _read_vectors(kb: KnowledgeBase) -> tuple[tuple[str, ...], NDArray[np.float32]]:
    questions = kb.catalogue.feedback.questions()
    if not questions:
        return (), np.zeros((0, 0), dtype=np.float32)
    embedder = kb.embedder
    missing = [row for row in questions if not row.vector or row.embedder != embedder.identity]
    fresh: dict[str, bytes] = {}
    if missing:
        vectors = embedder.embed([row.question for row in missing], "query")
        fresh = {
            row.feedback_id: vector.astype(np.float32).tobytes()
            for row, vector in zip(missing, vectors, strict=True)
        }
        kb.catalogue.feedback.store_vectors(fresh, embedder.identity)
    matrix = [
        np.frombuffer(fresh.get(row.feedback_id, row.vector), dtype=np.float32) for row in questions
    ]
    return tuple(row.feedback_id for row in questions), np.stack(matrix)


# --- a past question in a prompt -----------------------------------------------------------------

ANSWER_CHARACTERS = 400
LEFT_OUT = "[left out: an expert flagged it as harmful]"


def question_lines(past: PastQuestion, correction: str, flagged: FlaggedSentences) -> list[str]:
    """The fields of a past question, each on one line, so that none can pose as the next one."""
    lines = [f"Q: {_on_one_line(past.question)}"]
    if past.flow:
        lines.append(f"Flow: {' | '.join(map(_on_one_line, past.flow))}")
    lines.append(f"A: {shown_text(past.answer, flagged)}")
    if past.score is not None:
        lines.append(f"Score: {past.score}/100")
    judged = [
        f"- Sentence {number}: {verdict}"
        for number, sentence in enumerate(past.sentences, 1)
        if (verdict := judgement(sentence))
    ]
    if judged:
        lines += ["Feedback:", *judged]
    if correction:
        lines.append(f"Correction: {shown_text(correction, flagged)}")
    link = past.expert_citation_url or past.citation_url
    if link:
        lines.append(f"Citation: {_on_one_line(link)}")
    return lines


def judgement(sentence: SentenceFeedback) -> str:
    """The expert's verdict on a sentence, with its flags; empty without a verdict."""
    parts = [f"{sentence.score}/100"] if sentence.score is not None else []
    parts += [_on_one_line(sentence.explanation)] if sentence.explanation.strip() else []
    parts += ["harmful: true"] if sentence.harmful else []
    parts += ["content issue: true"] if sentence.content_issue else []
    return "; ".join(parts)


def shown_text(
    text: str, flagged: FlaggedSentences, judged: Sequence[SentenceFeedback] = ()
) -> str:
    """``text`` on one line, cut at about 400 characters, without flagged sentences."""
    return _cut(_on_one_line(without_flagged(text, flagged, judged)))


def without_flagged(
    text: str, flagged: FlaggedSentences, judged: Sequence[SentenceFeedback] = ()
) -> str:
    """``text`` with ``LEFT_OUT`` in place of each sentence that is flagged."""
    judged_harmful = {at for at, feedback in enumerate(judged) if feedback.harmful}
    if not flagged and not judged_harmful:
        return text
    sentences = [span.of(text) for span in sentence_spans(text)]
    harmful = flagged.places(sentences) | judged_harmful
    return " ".join(LEFT_OUT if at in harmful else line for at, line in enumerate(sentences))


def _cut(text: str) -> str:
    """The first 400 characters or so, cut between words and with an ellipsis if text is missing."""
    if len(text) <= ANSWER_CHARACTERS:
        return text
    head = text[:ANSWER_CHARACTERS]
    complete = head.rsplit(" ", 1)[0] if text[ANSWER_CHARACTERS] != " " else head
    return complete.rstrip(" ,;:") + "…"


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


MIN_WORDS = 4  # a flagged sentence with fewer is not searched for inside others
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
        # The stamp is read first, so a change in between only causes another reading.
        stamp = f"{kb.catalogue.feedback.stamp()} {self._depends_on(kb)}"
        cached = self._values.get(kb.cache_key)
        if cached is not None and cached[0] == stamp:
            return cached[1]
        with self._lock:
            value = self._make(kb)
            self._values[kb.cache_key] = (stamp, value)
            return value


@dataclass(frozen=True, slots=True)
class FlaggedSentences:
    """Sentences flagged as harmful, to compare with those of an answer before delivery.

    ``words`` maps their hashes to their words. A short sentence, or one whose text was deleted, has
    no words and only matches an identical sentence.
    """

    words: Mapping[str, Words] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.words)

    def holds(self, text: str) -> bool:
        """Whether ``text`` contains a flagged sentence."""
        return bool(self.places([text]))

    def places(self, texts: Sequence[str]) -> frozenset[int]:
        """The indexes of consecutive ``texts`` that repeat a flagged sentence, even jointly."""
        if not self.words:
            return frozenset()
        harmful = {at for at, text in enumerate(texts) if sentence_hash(text) in self.words}
        owners = [(word, at) for at, text in enumerate(texts) for word in sentence_words(text)]
        words = tuple(word for word, _ in owners)
        vocabulary = frozenset(words)
        for flagged_words in filter(vocabulary.issuperset, filter(None, self.words.values())):
            for start in range(len(words) - len(flagged_words) + 1):
                if words[start : start + len(flagged_words)] == flagged_words:
                    harmful.update(at for _, at in owners[start : start + len(flagged_words)])
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
    """Make flagged sentences of texts by hash; a text may be empty."""
    by_hash = {key: sentence_words(text) for key, text in sentences.items()}
    return FlaggedSentences(
        {key: words if len(words) >= MIN_WORDS else () for key, words in by_hash.items()}
    )


NOTHING_FLAGGED = FlaggedSentences()


def flagged_sentences(kb: KnowledgeBase, collections: Iterable[str]) -> FlaggedSentences:
    """Sentences flagged by users who may edit all of these collections.

    Flags on answers without a known collection count only from users who may edit everything.
    """
    flags, joined = _flags.of(kb)
    names = frozenset(collections)
    edits = {giver: edited_by(kb, giver) for giver in sorted(flags)}
    givers = tuple(
        giver
        for giver, reach in edits.items()
        if isinstance(reach, Everything) or (names and names <= reach)
    )
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
    """For each text, the sentences that it must not show; ``documents``: the ids that it cites."""
    if not _flags.of(kb)[0]:
        return [NOTHING_FLAGGED] * len(documents)
    facts = kb.catalogue.facts({key for ids in documents for key in ids})
    collections = [
        frozenset(facts[key].collection for key in ids if key in facts) for ids in documents
    ]
    flagged = {names: flagged_sentences(kb, names) for names in set(collections)}
    return [flagged[names] for names in collections]


def flag_rights_stamp(kb: KnowledgeBase) -> str:
    """A stamp that changes when the edit rights of flagging users change; usually empty."""
    reaches = ((giver, edited_by(kb, giver)) for giver in sorted(_flags.of(kb)[0]))
    return "; ".join(
        f"{giver}: {'*' if isinstance(reach, Everything) else sorted(reach)}"
        for giver, reach in reaches
    )


Flags = tuple[Mapping[str, Mapping[str, str]], dict[tuple[str, ...], FlaggedSentences]]
"""The flagged sentences by user and hash, and a cache for combinations of users."""
_flags = FeedbackCache[Flags](lambda kb: (kb.catalogue.feedback.harmful_by(), {}))
_vectors = FeedbackCache(_read_vectors, lambda kb: kb.embedder.identity)
