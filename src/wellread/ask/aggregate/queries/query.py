"""A question to the catalogue as a value: what is counted, listed or looked for, and within what.

The reader of questions fills it (``read/``); so do tests, the interfaces and language models
(``query_fields.py``). ``execute.py`` works it out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from wellread.ask.aggregate.queries.nouns import Noun
from wellread.errors import RequestError
from wellread.questions import Constraint
from wellread.store.catalogue.graph.relation_network import Direction
from wellread.types import Filters

Form = Literal["count", "list", "exists", "missing", "coverage", "trend", "walk", "path"]
FORMS: tuple[Form, ...] = get_args(Form)
Order = Literal["", "name", "most", "fewest", "newest", "oldest", "relevance"]
ORDERS: tuple[Order, ...] = get_args(Order)
Period = Literal["month", "quarter", "year"]
PERIODS: tuple[Period, ...] = get_args(Period)

LONGEST = 6  # words of a topic; what is longer is a question of its own
_CLAUSE = re.compile(
    r"\b(?:that|which|who|how|why|when|where|what|if|whether|this|it|"
    r"(?:from|in|since|before|after|until|during)\s+(?:\w+\s+)?\d{4})\b",
    re.IGNORECASE,
)
FLIPPED: dict[Direction, Direction] = {"out": "in", "in": "out", "both": "both"}
EntityKey = tuple[str, str]  # collection and entity id


class QueryError(RequestError):
    """A field of a catalogue query cannot be as it is given; the message begins with its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """One thing that is looked for: entities of this name, or the words as they stand.

    Attributes:
        entities: those that are meant; when empty, the graph is asked for the name.
    """

    phrase: str
    entities: tuple[EntityKey, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """What documents have to be about.

    Attributes:
        every: whether all names have to be there, else one is enough.
        naming: whether they have to name it; else a link to it will do, too.
    """

    names: tuple[Name, ...]
    every: bool = True
    naming: bool = False

    @property
    def clear(self) -> bool:
        """Whether its words are a topic, and not a clause or a limit that was not understood."""
        return all(
            name.entities
            or (len(name.phrase.split()) <= LONGEST and not _CLAUSE.search(name.phrase))
            for name in self.names
        )

    @property
    def quoted(self) -> str:
        """``“taproot” and “erlay”``."""
        return (" and " if self.every else " or ").join(f"“{name.phrase}”" for name in self.names)

    @property
    def said(self) -> str:
        """As it follows a noun: ``mentioning “taproot”``."""
        return f"{'mentioning' if self.naming else 'about'} {self.quoted}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sense:
    """A relation type, and the side from which it is read: from source to target is "out"."""

    type: str
    side: Direction = "out"

    def flipped(self) -> Sense:
        """The same, read from the other side."""
        return Sense(type=self.type, side=FLIPPED[self.side])


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One step through the graph.

    Attributes:
        senses: the relations to follow, read from where one stands; none means any.
        attribute: a dimension of the taxonomy, in place of relations: to all that share a value.
        types: what stands at its end must be of one of these entity types, when there are any.
        words: what a question calls it.
    """

    senses: tuple[Sense, ...] = ()
    attribute: str = ""
    types: frozenset[str] = frozenset()
    words: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """From where to go through the graph, and over what.

    Attributes:
        hops: to be made from the starts, in order.
        all_of: whether what is reached must be reached from every start.
    """

    starts: tuple[Name, ...]
    hops: tuple[Hop, ...] = ()
    all_of: bool = False

    @property
    def said(self) -> str:
        """One hop as it follows a noun: ``(funded by “X”)``, ``(“X” uses)``."""
        names = " and ".join(dict.fromkeys(f"“{name.phrase}”" for name in self.starts))
        hop = self.hops[0]
        words = hop.words or " or ".join(sense.type for sense in hop.senses) or "related to"
        outwards = bool(hop.senses) and all(sense.side == "out" for sense in hop.senses)
        return f"({names} {words})" if outwards else f"({words} {names})"


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueQuery:
    """What to work out from the catalogue as a whole.

    Attributes:
        form: how many there are ("count"), which ("list"), whether there is any ("exists"), what
            is lacking ("missing"), how all of it divides ("coverage"), how often over time
            ("trend"), what relations lead to ("walk"), how two things are connected ("path").
        of: what is counted, listed or looked for.
        about: what documents have to be about.
        related: what they have to be related to; of a walk or a path, where it begins.
        where: limits that must be met, all of them.
        soft: limits that are let go of where nothing would be left.
        relaxed: limits of the question that were let go of before.
        by: into what the result is divided: a field, "year", "month" or a dimension.
        order: of the rows; empty for the one that is natural.
        limit: most rows; None for all.
        notes: how the question was understood, where that is not plain.

    Raises:
        QueryError: fields that do not go together.
    """

    form: Form
    of: Noun = field(default_factory=lambda: Noun(what="documents", one="document"))
    about: Topic | None = None
    related: Walk | None = None
    where: tuple[Filters, ...] = ()
    soft: tuple[Constraint, ...] = ()
    relaxed: tuple[Constraint, ...] = ()
    by: tuple[str, ...] = ()
    order: Order = ""
    limit: int | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        problem = _problem(self)
        if problem:
            raise QueryError(problem)


def _problem(query: CatalogueQuery) -> str:
    """What does not go together, beginning with the field; empty when all does."""
    what, form = query.of.what, query.form
    counting = form in ("count", "list")
    hops = len(query.related.hops) if query.related else 0
    limited = any(replace(filters, collections=()) != Filters() for filters in query.where)
    checks = (
        (query.limit is not None and query.limit < 1, "limit: at least 1"),
        (form == "trend" and not query.about, "about: a trend is of something; name it"),
        (what == "mentions" and counting and not query.about, "about: mentions of what?"),
        (
            what in ("passages", "relation_types") and bool(query.about or query.related),
            f"about: {query.of.many} cannot be counted by what they are about",
        ),
        (
            what in ("relations", "relation_types") and (limited or bool(query.related)),
            f"where: {query.of.many} are limited by collections only",
        ),
        (form == "walk" and not hops, "related: a walk needs where it begins and its hops"),
        (
            form == "path" and (not query.related or len(query.related.starts) < 2),
            "related: a path needs the two names that it connects",
        ),
        (
            counting and hops > 1,
            'related: to count or list takes one hop; the form "walk" takes several',
        ),
        (
            query.order == "newest" and (form != "list" or what not in ("documents", "stories")),
            "order: the newest are listed of documents and stories",
        ),
        (
            query.order == "relevance" and (form != "list" or what != "entities"),
            "order: only a list of entities is ordered by relevance",
        ),
        (len(query.by) > (2 if form == "coverage" else 1), "by: too many to divide by"),
        (
            bool(query.by) and form == "trend" and query.by[0] not in PERIODS,
            f"by: a trend is by {', '.join(PERIODS)}",
        ),
        (
            bool(query.by) and form not in ("count", "list", "coverage", "trend"),
            f'by: the form "{form}" is not divided',
        ),
        (
            bool(query.by) and counting and what != "documents",
            f"by: only documents are divided, not {query.of.many}",
        ),
    )
    return next((said for wrong, said in checks if wrong), "")
