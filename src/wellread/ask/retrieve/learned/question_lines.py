"""How a prompt shows a past question, its answer, and what experts said of it."""

from __future__ import annotations

from collections.abc import Sequence

from wellread.ask.retrieve.learned.flagged_sentences import FlaggedSentences
from wellread.text.sentences import sentence_spans
from wellread.types import PastQuestion, SentenceFeedback

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
