"""Template values that several pages share: answers, earlier turns, and filter choices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wellread.errors import WellreadError
from wellread.kb import KnowledgeBase
from wellread.serve.features.answering import past_question_status, similar_past_questions
from wellread.serve.views import view_url
from wellread.types import KINDS, Kind
from wellread.values.answer_blocks import html_parts
from wellread.values.answers import Answer, Citation

MAX_TURNS = 50
MAX_CHOICES = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitChoices:
    """The filter values that forms offer."""

    collections: tuple[str, ...]
    kinds: tuple[Kind, ...]
    speakers: tuple[str, ...]
    source_types: tuple[str, ...]
    languages: tuple[str, ...]


def limit_choices(kb: KnowledgeBase) -> LimitChoices:
    """The filter values of all collections together."""
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
    """The answers of a conversation, oldest first, up to the answer ``before`` (exclusive)."""
    if not session_id:
        return ()
    turns = kb.catalogue.sessions.turns(session_id, kb.asker.owner, MAX_TURNS)
    ids = [one.id for one in turns]
    return turns[: ids.index(before)] if before in ids else turns


def answer_values(kb: KnowledgeBase, answer: Answer, *, stale: bool) -> dict[str, Any]:
    """The values for ``parts/answer.html``."""
    facts = kb.catalogue.facts({one.document_id for one in answer.citations})
    return {
        "answer": answer,
        "parts": html_parts(answer),
        "places": {one.id: citation_address(answer, one) for one in answer.citations},
        "gone": {
            one.id
            for one in answer.citations
            if one.document_id not in facts or facts[one.document_id].version != one.version
        },
        "stale": stale,
        "similar": (),
        "not_looked_up": "",
    }


def answer_page_values(kb: KnowledgeBase, answer: Answer, *, stale: bool) -> dict[str, Any]:
    """The values for ``parts/answer.html`` on an answer's own page, with similar past questions.

    Without an embedder the answer is still shown, with the reason why similar ones are missing.
    """
    values = answer_values(kb, answer, stale=stale)
    try:
        similar = similar_past_questions(kb, answer)
    except WellreadError as error:
        return values | {"not_looked_up": str(error)}
    return values | {"similar": [(one, past_question_status(one)) for one in similar]}


def citation_address(answer: Answer, citation: Citation) -> str:
    """The address of the source at the citation, with the answer's other citations marked."""
    address = view_url(citation.document_id, citation.version, citation.source_span)
    page, _, place = address.partition("#")
    return f"{page}&answer={answer.id}&citation={citation.id}#{place}"


def _sorted(names: Any) -> tuple[str, ...]:
    return tuple(sorted(set(names), key=str.casefold))[:MAX_CHOICES]
