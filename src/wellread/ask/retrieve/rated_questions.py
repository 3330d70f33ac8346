"""Questions that were asked here and judged by experts: found by meaning, shown in prompts.

All vectors are held in one array, so a question is compared with every one of them. A question is
embedded once and its vector kept; another embedder makes all of them anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wellread.answers import Answer
from wellread.ask.retrieve.flagged_sentences import FlaggedSentences, Held
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.learning.expiry import places_quoted, rests_on
from wellread.store.schema.feedback_values import BetterCitation, Feedback
from wellread.text.sentences import sentence_spans
from wellread.types import DocumentFacts, PastQuestion, SentenceFeedback

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
        return rests_on(self.given, self.answer)

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
    """The answer and what the expert said of it, as a past question that came with the sources."""
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
    named = [one.document_id for one in (*places_quoted(answer), *rests_on(given, answer))]
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
        kb.catalogue.feedback.embedded(fresh, embedder.identity)
    rows = [
        np.frombuffer(fresh.get(one.feedback_id, one.vector), dtype=np.float32) for one in questions
    ]
    return _Vectors(tuple(one.feedback_id for one in questions), np.stack(rows))


_vectors = Held(_read, lambda kb: kb.embedder.identity)


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
    """What was said of a sentence, flags only where they are set; empty when nothing was."""
    parts = [f"{sentence.score}/100"] if sentence.score is not None else []
    parts += [_flat(sentence.explanation)] if sentence.explanation.strip() else []
    parts += ["harmful: true"] if sentence.harmful else []
    parts += ["content issue: true"] if sentence.content_issue else []
    return "; ".join(parts)


def shown_text(
    text: str, flagged: FlaggedSentences, judged: Sequence[SentenceFeedback] = ()
) -> str:
    """``text`` on one line, cut at about 400 characters, without what is flagged."""
    return _cut(_flat(without_flagged(text, flagged, judged)))


def without_flagged(
    text: str, flagged: FlaggedSentences, judged: Sequence[SentenceFeedback] = ()
) -> str:
    """``text`` with ``LEFT_OUT`` in place of each sentence that is flagged.

    Args:
        judged: what was said of the sentences of ``text`` itself, where that is not shown beside.
    """
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
