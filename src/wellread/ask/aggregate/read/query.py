"""Data types of a catalogue query: what to count, list or look up, and within which limits.

Built by the question parsers in ``read/``, the interfaces and language models; executed by
``execute.py``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from wellread.ask.understand.vocabulary import Vocabulary
from wellread.errors import RequestError
from wellread.store.catalogue.documents.relation_network import Direction
from wellread.text.english import CLAUSES
from wellread.text.names import plural, singular
from wellread.text.tokens import tokens_of
from wellread.types import Filters, Kind
from wellread.values.question import Constraint

What = Literal[
    "documents",
    "entities",
    "values",
    "author",
    "speaker",
    "language",
    "collection",
    "kind",
    "source_type",
    "entity_types",
    "dimensions",
    "stories",
    "mentions",
]
MOST_WORDS = 4  # of a noun

_KINDS: dict[Kind, str] = {
    "article": "article, news article, news item, blog post, post, piece, report, column",
    "page": "page, web page",
    "paper": "paper, research paper, study, publication, preprint",
    "transcript": "transcript, recording, video, episode, podcast episode, meeting, talk, podcast, "
    "interview",
    "qa": "past question, past answer, stored question, question and answer",
}
_EVENTS = frozenset({"meeting", "talk"})  # that are documents only where recordings are held
_PLAIN: dict[What, str] = {
    "documents": "document, source, item, file, record, source document, text",
    "entities": "entity, entry, node",
    "author": "author, writer",
    "speaker": "speaker",
    "language": "language",
    "collection": "collection",
    "kind": "kind of document, type of document, kind of source, kind of material, document kind",
    "source_type": "source type, type of source",
    "entity_types": "entity type, type of entity, kind of entity, type of entry, kind of entry",
    "dimensions": "dimension, taxonomy dimension",
    "stories": "story, news story",
    "mentions": "mention",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Noun:
    """Something that can be counted.

    Attributes:
        one: what one of them is called.
        filters: the documents that are meant, where only some are.
        names: the entity types, or the dimension whose values are meant; empty for all.
    """

    what: What
    one: str
    filters: Filters = field(default_factory=Filters)
    names: tuple[str, ...] = ()

    @property
    def many(self) -> str:
        """What several are called."""
        for joint in (" or ", " of ", " and "):
            if joint in self.one:
                return joint.join(map(plural, self.one.split(joint)))
        return plural(self.one)


def said(word: str) -> str:
    """A type of the catalogue as a word: ``public_notice`` is a public notice."""
    plain = word.replace("_", " ").replace("-", " ")
    first, space, last = plain.rpartition(" ")
    return f"{first}{space}{singular(last) or last}"


def spelling(text: str) -> str:
    """The lookup key of a noun, equal for ``organizations`` and ``organisation``."""
    words = [token.plain for token in tokens_of(text)]
    return " ".join(singular(word) or word for word in words).replace("iz", "is")


def nouns(vocabulary: Vocabulary) -> dict[str, Noun]:
    """The nouns by key (``spelling``); earlier sources take precedence."""
    found: dict[str, Noun] = {}

    def take(words: Sequence[str], noun: Noun) -> None:
        for word in words:
            found.setdefault(spelling(word), noun)

    for kind, words in _KINDS.items():
        one = words.partition(",")[0]
        take([one], Noun(what="documents", one=one, filters=Filters(kinds=(kind,))))
    for source_type in sorted(vocabulary.source_types - {"text"}):
        one, filters = said(source_type), Filters(source_types=(source_type,))
        take([one, one.rpartition(" ")[2]], Noun(what="documents", one=one, filters=filters))
    for entity_type in sorted(vocabulary.entity_types):
        one = said(entity_type)
        take([one], Noun(what="entities", one=one, names=(entity_type,)))
    for dimension in sorted(vocabulary.dimensions):
        one = said(dimension)
        take([one], Noun(what="values", one=one, names=(dimension,)))
    # An entry is a document that is an entity, else any node of the graph, else any document.
    if "entity" in vocabulary.kinds:
        take(["entry"], Noun(what="entities", one="entry", filters=Filters(kinds=("entity",))))
    elif not (vocabulary.entity_types or vocabulary.untyped):
        take(["entry"], Noun(what="documents", one="entry"))
    for kind, words in _KINDS.items():
        for one in words.split(", ")[1:]:
            if kind in vocabulary.kinds or one not in _EVENTS:
                take([one], Noun(what="documents", one=one, filters=Filters(kinds=(kind,))))
    for what, words in _PLAIN.items():
        first, *others = words.split(", ")
        take([first, *others], Noun(what=what, one=first))
    return found


Form = Literal["count", "list", "exists", "missing", "coverage", "trend", "walk", "path"]
Order = Literal["", "name", "most", "fewest", "newest", "oldest", "latest", "relevance"]
Period = Literal["month", "quarter", "year"]
PERIODS: tuple[Period, ...] = get_args(Period)

LONGEST = 6  # words of a topic; what is longer is a question of its own
_CLAUSE = re.compile(
    rf"\b(?:{'|'.join(CLAUSES)}|"
    r"(?:from|in|since|before|after|until|during)\s+(?:\w+\s+)?\d{4})\b",
    re.IGNORECASE,
)
FLIPPED: dict[Direction, Direction] = {"out": "in", "in": "out", "both": "both"}
EntityKey = tuple[str, str]  # collection and entity id


class QueryError(RequestError):
    """A field of a catalogue query is invalid; the message begins with the field's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A name to look up: the entities that bear it, or the literal words."""

    phrase: str
    entities: tuple[EntityKey, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """The topic that documents have to be about.

    Attributes:
        every: whether all names have to be there, else one is enough.
        naming: whether they have to name it; else a link to it will do, too.
    """

    names: tuple[Name, ...]
    every: bool = True
    naming: bool = False

    @property
    def clear(self) -> bool:
        """Whether the words are a topic and not an unparsed clause or limit."""
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
    """A relation type and its direction; "out" reads from source to target."""

    type: str
    side: Direction = "out"

    def flipped(self) -> Sense:
        """The same sense, read in the opposite direction."""
        return Sense(type=self.type, side=FLIPPED[self.side])


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One step through the graph.

    Attributes:
        senses: the relations to follow, read from where one stands; none means any.
        types: what stands at its end must be of one of these entity types, when there are any.
        words: what a question calls it.
    """

    senses: tuple[Sense, ...] = ()
    types: frozenset[str] = frozenset()
    words: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """The start names of a graph traversal and the hops to follow."""

    starts: tuple[Name, ...]
    hops: tuple[Hop, ...] = ()
    all_of: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueQuery:
    """A query over the whole catalogue.

    Attributes:
        form: how many there are ("count"), which ("list"), whether there is any ("exists"), what
            is lacking ("missing"), how all of it divides ("coverage"), how often over time
            ("trend"), what relations lead to ("walk"), how two things are connected ("path").
        of: what is counted, listed or looked for.
        about: what documents have to be about.
        related: where a walk or a path begins, and over what it goes.
        where: limits that must be met, all of them.
        soft: limits that are let go of where nothing would be left.
        relaxed: limits of the question that were let go of before.
        by: into what the result is divided: a field, "year", "month" or a dimension.
        order: of the rows; empty for the one that is natural.
        limit: most rows; None for all.
        notes: how the question was understood, where that is not plain.
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

    @property
    def fits(self) -> bool:
        """Whether its fields go together, so that it can be executed."""
        what, listing = self.of.what, self.form == "list"
        if self.form in ("walk", "path"):
            ends = len(self.related.starts) if self.related else 0
            hops = len(self.related.hops) if self.related else 0
            return not self.by and (bool(hops) if self.form == "walk" else ends > 1)
        if (what == "stories" or self.order == "newest") and not (
            listing and self.order == "newest" and what in ("documents", "stories")
        ):
            return False
        if self.order == "relevance" and not (listing and what == "entities"):
            return False
        if self.form == "trend":
            return self.about is not None and not {*self.by} - {*PERIODS}
        if self.form in ("count", "list"):
            divided = len(self.by) == 1 and what == "documents"
            return (not self.by or divided) and (what != "mentions" or self.about is not None)
        return not self.by or self.form == "coverage"
