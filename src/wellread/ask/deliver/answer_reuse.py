"""The answer cache: reuses an answer for the same question, scope and settings.

The cache key covers everything that an answer depends on, the state of the material included, so
after any change the old answer is no longer found. The key is computed before retrieval: an answer
is never reused if the material changed while it was being written.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import cache, lru_cache
from importlib.metadata import version

from wellread.ask.retrieve.rated_questions import flag_rights_stamp
from wellread.ask.understand.conversation import SessionQuestion
from wellread.codec import to_plain
from wellread.config import Settings
from wellread.identity import random_id, tagged_hash
from wellread.kb import KnowledgeBase
from wellread.values.answers import Answer

# Sections of the settings that affect answers only through the material, which has its own stamp.
IRRELEVANT_SECTIONS = {
    *("sources", "web", "serve", "budget", "cache", "embedding", "chunking", "research"),
    *("coverage", "gaps", "users", "oidc", "catalogue"),
}
MARKS = " .?!…¿¡"


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheEntry:
    """The cached answer to a question, if any, and the key to cache a new one under.

    An empty ``key``: it must not be cached. ``failures``: failed model calls before this question.
    """

    key: str = ""
    failures: int = 0
    answer: Answer | None = None


def find_cached(kb: KnowledgeBase, turn: SessionQuestion, *, use_cache: bool = True) -> CacheEntry:
    """The cache entry for ``turn``, with the cached answer unless ``use_cache`` is false.

    The cached answer gets a new id and no cost. It is not recorded yet.
    """
    if not kb.settings.cache.answers:
        return CacheEntry()
    entry = CacheEntry(key=_cache_key(kb, turn), failures=kb.ledger.failures)
    if not use_cache or turn.question.fresh:
        return entry
    cached_answer = kb.catalogue.answer_cache.find(entry.key)
    return replace(entry, answer=_as_answer_to(turn, cached_answer)) if cached_answer else entry


def record(kb: KnowledgeBase, entry: CacheEntry, answer: Answer, read: Sequence[str]) -> None:
    """Record an answer, and cache it if it may be reused.

    Answers by a fallback or after a failed call are not cached, since the next try may do better;
    nor are answers to rewritten follow-ups, whose notes mention the conversation.
    """
    failed = kb.ledger.failures != entry.failures or answer.failures
    read_with_others = answer.standalone or answer.rewritten
    if not entry.key or answer.cached or answer.fallback or failed or read_with_others:
        kb.catalogue.record_answer(answer, read)
    else:
        kb.catalogue.answer_cache.record(answer, entry.key, read)


def _cache_key(kb: KnowledgeBase, turn: SessionQuestion) -> str:
    question = turn.question
    stamps = kb.catalogue.vocabulary.stamps(question.filters.collections)
    return tagged_hash(
        "ask",
        normalised(question.text),
        turn.context,
        json.dumps(
            {
                "filters": to_plain(question.filters),
                "mode": question.mode,
                "strict": question.strict,
                "max_clusters": question.max_clusters,
                "owner": question.owner,
            },
            sort_keys=True,
        ),
        json.dumps(to_plain(turn.liking), sort_keys=True),
        _settings_json(kb.settings),
        json.dumps(kb.stand_ins, sort_keys=True),
        _release(),
        # The local date (for "last week") and the UTC date (for news).
        f"{date.today()} {datetime.now(UTC).date()}",
        *(f"{name} {stamp}" for name, stamp in stamps.items()),
        kb.catalogue.answer_cache.stamp(list(stamps)),
        kb.catalogue.feedback.stamp(),
        flag_rights_stamp(kb),
    )


def _as_answer_to(turn: SessionQuestion, cached_answer: Answer) -> Answer:
    question = turn.question
    return replace(
        cached_answer,
        id=random_id("ans"),
        question=" ".join(turn.asked.split()),
        standalone=question.text if question.text != turn.asked else "",
        owner=question.owner,
        session_id=question.session_id,
        notes=(*turn.notes, *cached_answer.notes),
        failures=turn.failures,
        rewritten=turn.rewritten,
        cached=True,
        usage=replace(turn.usage, clusters=cached_answer.usage.clusters),
        steps=(),
    )


def normalised(text: str) -> str:
    """Remove from a question what does not matter: case, extra white space, the final mark.

    A word in capitals keeps them, unless the whole question is in capitals: "US" is not "us".
    """
    written = unicodedata.normalize("NFKC", text)
    words = [
        word if word.isupper() and len(word.strip(MARKS)) > 1 else word.casefold()
        for word in (written.casefold() if written.isupper() else written).split()
    ]
    return " ".join(words).strip(MARKS)


@lru_cache(maxsize=16)
def _settings_json(settings: Settings) -> str:
    return json.dumps(settings.model_dump(mode="json", exclude=IRRELEVANT_SECTIONS), sort_keys=True)


@cache
def _release() -> str:
    return version("wellread")
