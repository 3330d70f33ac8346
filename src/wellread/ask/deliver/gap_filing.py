"""Files a gap for a question that was not answered, or not surely.

Only for answers that are recorded: what must not be kept leaves no question behind either.
"""

from __future__ import annotations

from dataclasses import replace

from wellread.answers import CATALOGUE, NOBODY, Answer, Question
from wellread.codec import to_plain
from wellread.kb import KnowledgeBase
from wellread.store.schema.catalogue_values import GapKind
from wellread.types import Filters


def file_gap(kb: KnowledgeBase, done: Answer, asked: Question) -> None:
    """File the question of ``done`` as a gap where the material did not answer it.

    Raises:
        StoreError: the catalogue cannot be written.
    """
    kind = gap_kind(done)
    if kind is None:
        return
    kb.catalogue.record_gap(
        done.standalone or done.question,
        "; ".join(done.data_gaps) or done.confidence.reasoning,
        kind=kind,
        scope=asked.filters.collections,
        limits=limits_of_gap(asked.filters),
        answer_id=done.id,
        owner=done.owner,
    )


def gap_kind(done: Answer) -> GapKind | None:
    """In which way an answer leaves its question open; None when it does not.

    ``unanswered``: nothing near was found, or a count of the whole material found nothing.
    ``declined``: what was found does not answer. ``hedged``: it was answered, and not surely, or
    not in all its parts. A courtesy, and a question that is asked back, lack nothing.
    """
    if done.answered_by == NOBODY:
        if not done.data_gaps:
            return None
        return "declined" if done.citations or done.related else "unanswered"
    if done.answered_by == CATALOGUE:
        return "unanswered" if done.data_gaps else None
    return "hedged" if done.confidence.band in ("low", "none") else None


def limits_of_gap(filters: Filters) -> dict[str, object]:
    """The limits beside the collections, plain; those that limit nothing are left out."""
    plain = to_plain(replace(filters, collections=()))
    return {name: value for name, value in plain.items() if value}
