"""Answers that may be given again: same question, scope and settings, on unchanged material.

An answer is looked for under a key that hangs on everything it was made from; whatever changes,
the key is another one, and the old answer is not found any more. The key is made before anything
is retrieved, so that an answer during whose making the material changed is never given again.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import cache, lru_cache
from importlib.metadata import version

from wellread.ask.retrieve.rated_questions import reach_of_flags
from wellread.ask.understand.conversation import Opened
from wellread.codec import to_plain
from wellread.config import Settings
from wellread.identity import random_id, tagged_hash
from wellread.kb import KnowledgeBase
from wellread.values.answers import Answer, Question

# Sections of the settings that shape no answer; what they do to the material shows in its stamp.
SHAPELESS = {
    *("sources", "web", "serve", "budget", "cache", "embedding", "chunking", "research"),
    *("coverage", "gaps", "users", "oidc", "catalogue"),
}
MARKS = " .?!…¿¡"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the answer to a question may be kept.

    Attributes:
        key: of everything that the answer hangs on; empty when it is not to be kept.
        failures: how many calls of models had failed before this question was answered.
        answer: the answer to give again; None when it has to be written.
    """

    key: str = ""
    failures: int = 0
    answer: Answer | None = None


def look(kb: KnowledgeBase, turn: Opened, *, again: bool = True) -> Place:
    """The place of the answer to ``turn``, with the answer that is kept there.

    That answer is made one to this question: it has an id of its own and costs nothing. It is not
    recorded yet.
    """
    if not kb.settings.cache.answers:
        return Place()
    place = Place(key=_key(kb, turn), failures=kb.ledger.failures)
    if not again or turn.question.fresh:
        return place
    known = kb.catalogue.answer_cache.find(place.key)
    return replace(place, answer=_as_answer_to(turn, known)) if known else place


def record(kb: KnowledgeBase, place: Place, answer: Answer, read: Sequence[str]) -> None:
    """Record an answer, to be given again where it may.

    Not given again is what a fallback wrote or what a failure had a part in, since the next try may
    do better; and what was read with the turns before it, as its notes tell of them.
    """
    failed = kb.ledger.failures != place.failures or answer.failures
    read_with_others = answer.standalone or answer.rewritten
    if not place.key or answer.cached or answer.fallback or failed or read_with_others:
        kb.catalogue.record_answer(answer, read)
    else:
        kb.catalogue.answer_cache.record(answer, place.key, read)


def _key(kb: KnowledgeBase, turn: Opened) -> str:
    question = turn.question
    stamps = kb.catalogue.vocabulary.stamps(question.filters.collections)
    return tagged_hash(
        "ask",
        normalised(question.text),
        turn.context,
        _asked(question),
        json.dumps(to_plain(turn.liking), sort_keys=True),
        _shape(kb.settings),
        json.dumps(kb.stand_ins, sort_keys=True),
        _release(),
        # Of the asker's words ("last week"), and of what counts as news.
        f"{date.today()} {datetime.now(UTC).date()}",
        *(f"{name} {stamp}" for name, stamp in stamps.items()),
        kb.catalogue.answer_cache.stamp(list(stamps)),
        kb.catalogue.feedback.stamp(),
        reach_of_flags(kb),
    )


def _as_answer_to(turn: Opened, known: Answer) -> Answer:
    question = turn.question
    return replace(
        known,
        id=random_id("ans"),
        question=" ".join(turn.asked.split()),
        standalone=question.text if question.text != turn.asked else "",
        owner=question.owner,
        session_id=question.session_id,
        notes=(*turn.notes, *known.notes),
        failures=turn.failures,
        rewritten=turn.rewritten,
        cached=True,
        usage=replace(turn.usage, clusters=known.usage.clusters),
        steps=(),
    )


def normalised(text: str) -> str:
    """A question without what does not change its meaning: case, white space, the final mark.

    Words in capitals keep them, unless all are: "US" is not "us".
    """
    written = unicodedata.normalize("NFKC", text)
    words = [
        word if word.isupper() and len(word.strip(MARKS)) > 1 else word.casefold()
        for word in (written.casefold() if written.isupper() else written).split()
    ]
    return " ".join(words).strip(MARKS)


def _asked(question: Question) -> str:
    """Everything of a question but its words and its session."""
    return json.dumps(
        {
            "filters": to_plain(question.filters),
            "mode": question.mode,
            "strict": question.strict,
            "max_clusters": question.max_clusters,
            "owner": question.owner,
        },
        sort_keys=True,
    )


@lru_cache(maxsize=16)
def _shape(settings: Settings) -> str:
    """All settings that shape answers."""
    return json.dumps(settings.model_dump(mode="json", exclude=SHAPELESS), sort_keys=True)


@cache
def _release() -> str:
    return version("wellread")
