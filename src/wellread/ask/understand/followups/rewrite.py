"""From a follow-up to a question that stands alone. No model, no I/O. Read this first.

A question that stands alone must stay as it is: words are put in only for a pronoun that nothing
in the question explains, a phrase that points back, a place in a list, or for a question that is
no whole sentence. Only a question changed so keeps the limits of the one before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from wellread.ask.understand.followups.antecedents import Antecedent, antecedents_of
from wellread.ask.understand.followups.ellipsis import Setting, filled, topic_of
from wellread.ask.understand.followups.noun_references import (
    list_edits,
    noun_edits,
    place_edits,
    time_edits,
)
from wellread.ask.understand.followups.pronouns import pronoun_edits, references_of
from wellread.ask.understand.followups.turns import (
    Edit,
    Rewritten,
    Turn,
    applied,
    before_end,
    with_limits,
)
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.text.parsed import parse
from wellread.text.tokens import tokens_of

LONGEST = 400  # characters of a question that is looked at: longer ones say what they mean
_CONNECTED = re.compile(r"^(?:and|but|so|then|also|or)\b[,\s]+(?=\w)", re.IGNORECASE)


def standalone(
    question: str, earlier: Sequence[Turn], vocabulary: Vocabulary, today: date
) -> Rewritten:
    """``question`` in words that need no earlier turn.

    Args:
        earlier: the turns so far, oldest first.
        today: what "last week" is counted from.
    """
    text = " ".join(question.split())
    if not text or not earlier or len(text) > LONGEST:
        return Rewritten(text=question)
    candidates = antecedents_of(earlier, vocabulary)
    last = next((turn.question for turn in reversed(earlier) if turn.question), "")
    reasons: list[str] = []
    listed = list_edits(text, earlier)
    whole = applied(text, listed)
    reasons += [edit.reason for edit in listed]
    setting = Setting(last=last, topic=topic_of(candidates), vocabulary=vocabulary, today=today)
    full = filled(whole, setting)
    if full is not None:
        whole = full.text
        reasons.append(full.reason)
    else:
        edits = _edits(whole, candidates, earlier, today)
        reasons += [edit.reason for edit in edits]
        pointing = bool(references_of(whole, tokens_of(whole)))
        whole = applied(whole, edits)
        if not reasons and (pointing or _CONNECTED.match(text)):
            whole, reason = _with_topic(whole, [one for one in candidates if one.named])
            reasons += [reason] if reason else []
    if not reasons:
        return Rewritten(text=question)
    whole = _CONNECTED.sub("", whole)
    whole = f"{whole[:1].upper()}{whole[1:]}"
    kept = with_limits(text, whole, last, vocabulary, today)
    if kept.limits:
        reasons.append(f"limits kept: {', '.join(kept.limits)}")
    return Rewritten(text=kept.text, changed=kept.text != question, reasons=tuple(reasons))


def connected(question: str) -> bool:
    """Whether it goes on from something said before ("and ...", "but ...")."""
    return _CONNECTED.match(question.strip()) is not None


def _edits(
    text: str, candidates: Sequence[Antecedent], earlier: Sequence[Turn], today: date
) -> list[Edit]:
    """What the words of a whole question stand for."""
    tokens = tokens_of(text)
    found = list(pronoun_edits(text, tokens, candidates))
    found += noun_edits(text, tokens, candidates, [edit.text for edit in found])
    found += time_edits(text, earlier, today)
    found += place_edits(text, tokens, candidates)
    return found


def _with_topic(text: str, candidates: Sequence[Antecedent]) -> tuple[str, str]:
    """A question that names nothing, with what the conversation is about."""
    topic = topic_of(candidates)
    bare = _CONNECTED.sub("", text)
    if not topic or parse(bare).names or set(parse(topic).terms) & set(parse(bare).terms):
        return text, ""
    return before_end(bare, f"({topic})"), f"“{topic}” is what was talked about"
