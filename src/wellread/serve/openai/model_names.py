"""What the name of a model says: which collection is asked, and whether it is researched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus

from wellread.kb import KnowledgeBase
from wellread.serve.error_shapes import Problem, ProblemError

ASK, RESEARCH = "wellread", "wellread-deep"
MOST_NAMED = 10  # models that an error names


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedModel:
    """A model's name as it was asked for; an empty ``collection`` is all of them."""

    name: str
    collection: str
    deep: bool

    @property
    def collections(self) -> tuple[str, ...]:
        """As filters have it."""
        return (self.collection,) if self.collection else ()


def model_names(kb: KnowledgeBase) -> list[str]:
    """Every model: all material or one collection, asked or researched.

    Raises:
        StoreError: the catalogue cannot be read.
    """
    held = kb.catalogue.collection_names()
    return [
        *(ASK, RESEARCH),
        *(f"{ASK}/{name}" for name in held),
        *(f"{RESEARCH}/{name}" for name in held),
    ]


def named_model(kb: KnowledgeBase, name: str) -> NamedModel:
    """What ``name`` stands for.

    Raises:
        ProblemError: no model is called so.
        StoreError: the catalogue cannot be read.
    """
    known = model_names(kb)
    if name not in known:
        raise ProblemError(_unknown(name, known))
    how, _, collection = name.partition("/")
    return NamedModel(name=name, collection=collection, deep=how == RESEARCH)


def _unknown(name: str, known: Sequence[str]) -> Problem:
    more = f" and {len(known) - MOST_NAMED} more" if len(known) > MOST_NAMED else ""
    return Problem(
        error="model_not_found",
        detail=f"The model {name!r} does not exist.",
        hint=f"There are: {', '.join(known[:MOST_NAMED])}{more}.",
        status=HTTPStatus.NOT_FOUND,
        param="model",
    )
