"""Prepares template values that several pages share: answers, earlier turns, filter choices."""

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
    entries = kb.catalogue.vocabulary.of(())
    kinds = {kind for entry in entries for kind in entry.kinds}
    return LimitChoices(
        collections=tuple(entry.collection for entry in entries),
        kinds=tuple(kind for kind in KINDS if kind in kinds),
        speakers=_sorted(name for entry in entries for name in entry.speakers),
        source_types=_sorted(name for entry in entries for name in entry.source_types),
        languages=_sorted(name for entry in entries for name in entry.languages),
    )


def earlier_turns(kb: KnowledgeBase, session_id: str, *, before: str = "") -> Sequence[Answer]:
    """The answers of a conversation, oldest first, up to the answer ``before`` (exclusive)."""
    if not session_id:
        return ()
    turns = kb.catalogue.sessions.turns(session_id, kb.asker.owner, MAX_TURNS)
    ids = [turn.id for turn in turns]
    return turns[: ids.index(before)] if before in ids else turns


def answer_values(kb: KnowledgeBase, answer: Answer, *, stale: bool) -> dict[str, Any]:
    """The values for ``parts/answer.html``."""
    facts = kb.catalogue.facts({citation.document_id for citation in answer.citations})
    return {
        "answer": answer,
        "parts": html_parts(answer),
        "places": {cited.id: citation_address(answer, cited) for cited in answer.citations},
        "gone": {
            cited.id
            for cited in answer.citations
            if cited.document_id not in facts or facts[cited.document_id].version != cited.version
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
    return values | {"similar": [(past, past_question_status(past)) for past in similar]}


def citation_address(answer: Answer, citation: Citation) -> str:
    """The address of the source at the citation, with the answer's other citations marked."""
    address = view_url(citation.document_id, citation.version, citation.source_span)
    page, _, fragment = address.partition("#")
    return f"{page}&answer={answer.id}&citation={citation.id}#{fragment}"


def _sorted(names: Any) -> tuple[str, ...]:
    return tuple(sorted(set(names), key=str.casefold))[:MAX_CHOICES]
