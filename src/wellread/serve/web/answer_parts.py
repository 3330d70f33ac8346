"""What several pages show of answers: the values of one, earlier turns, what limits can be set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wellread.errors import WellreadError
from wellread.kb import KnowledgeBase
from wellread.serve.features.answering import past_beside, standing
from wellread.serve.views import view_url
from wellread.types import KINDS, Kind
from wellread.values.answer_blocks import html_parts
from wellread.values.answers import Answer, Citation

MOST_TURNS = 50
MOST_CHOICES = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitChoices:
    """What the material knows that a question can be limited to."""

    collections: tuple[str, ...]
    kinds: tuple[Kind, ...]
    speakers: tuple[str, ...]
    source_types: tuple[str, ...]
    languages: tuple[str, ...]


def limit_choices(kb: KnowledgeBase) -> LimitChoices:
    """The limits that a form offers, of all collections together."""
    words = kb.catalogue.vocabulary.of(())
    kinds = {kind for one in words for kind in one.kinds}
    return LimitChoices(
        collections=tuple(one.collection for one in words),
        kinds=tuple(kind for kind in KINDS if kind in kinds),
        speakers=_sorted(name for one in words for name in one.speakers),
        source_types=_sorted(name for one in words for name in one.source_types),
        languages=_sorted(name for one in words for name in one.languages),
    )


def earlier_turns(kb: KnowledgeBase, session_id: str, *, before: str = "") -> Sequence[Answer]:
    """The answers of a conversation, oldest first; those before the answer ``before``."""
    if not session_id:
        return ()
    turns = kb.catalogue.sessions.turns(session_id, kb.asker.owner, MOST_TURNS)
    ids = [one.id for one in turns]
    return turns[: ids.index(before)] if before in ids else turns


def answer_values(kb: KnowledgeBase, answer: Answer, *, stale: bool) -> dict[str, Any]:
    """What ``parts/answer.html`` shows."""
    facts = kb.catalogue.facts({one.document_id for one in answer.citations})
    return {
        "answer": answer,
        "parts": html_parts(answer),
        "places": {one.id: place_of(answer, one) for one in answer.citations},
        "gone": {
            one.id
            for one in answer.citations
            if one.document_id not in facts or facts[one.document_id].version != one.version
        },
        "stale": stale,
        "similar": (),
        "not_looked_up": "",
    }


def values_beside(kb: KnowledgeBase, answer: Answer, *, stale: bool) -> dict[str, Any]:
    """What ``parts/answer.html`` shows of an answer on its own: the past questions like it too.

    A kept answer can be read without an embedder; that these cannot be looked up is then said.
    """
    values = answer_values(kb, answer, stale=stale)
    try:
        found = past_beside(kb, answer)
    except WellreadError as error:
        return values | {"not_looked_up": str(error)}
    return values | {"similar": [(one, standing(one)) for one in found]}


def place_of(answer: Answer, citation: Citation) -> str:
    """Where the source of a citation is read at its place, with the answer's other marks."""
    address = view_url(citation.document_id, citation.version, citation.source_span)
    page, _, place = address.partition("#")
    return f"{page}&answer={answer.id}&citation={citation.id}#{place}"


def _sorted(names: Any) -> tuple[str, ...]:
    return tuple(sorted(set(names), key=str.casefold))[:MOST_CHOICES]
