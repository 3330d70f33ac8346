"""What can be counted: the nouns of a question that the catalogue knows, as a person says them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from wellread.ask.understand.vocabulary import Vocabulary
from wellread.text.names import plural, singular
from wellread.text.tokens import tokens_of
from wellread.types import Filters, Kind

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
    "relations",
    "relation_types",
    "passages",
]
MOST_WORDS = 4  # of a noun

_KINDS: dict[Kind, str] = {
    "article": "article, news article, news item, blog post",
    "page": "page, web page",
    "paper": "paper, research paper, study, publication",
    "transcript": "transcript, recording, video, episode, podcast episode",
    "qa": "past question, past answer, stored question, question and answer",
}
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
    "relations": "relation, relationship, edge",
    "relation_types": "relation type, kind of relation, type of relation",
    "passages": "passage, segment",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Noun:
    """One thing that can be counted.

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
        for joint in (" of ", " and "):
            first, found, rest = self.one.partition(joint)
            if found:
                return f"{plural(first)}{joint}{plural(rest)}"
        return plural(self.one)


def said(word: str) -> str:
    """A type of the catalogue as a word: ``public_notice`` is a public notice."""
    plain = word.replace("_", " ").replace("-", " ")
    first, space, last = plain.rpartition(" ")
    return f"{first}{space}{singular(last) or last}"


def spelling(text: str) -> str:
    """The key of a noun: ``organizations`` and ``organisation`` are the same."""
    words = [token.plain for token in tokens_of(text)]
    return " ".join(singular(word) or word for word in words).replace("iz", "is")


def nouns(vocabulary: Vocabulary) -> dict[str, Noun]:
    """Key of each noun (``spelling``) to what it means; what stands first here goes first."""
    found: dict[str, Noun] = {}

    def take(words: Sequence[str], noun: Noun) -> None:
        for word in words:
            found.setdefault(spelling(word), noun)

    for kind, words in _KINDS.items():
        one = words.partition(",")[0]
        take([one], Noun(what="documents", one=one, filters=Filters(kinds=(kind,))))
    for source_type in sorted(vocabulary.source_types - {"text"}):
        one = said(source_type)
        filters = Filters(source_types=(source_type,))
        take([one], Noun(what="documents", one=one, filters=filters))
    for entity_type in sorted(vocabulary.entity_types):
        one = said(entity_type)
        take([one], Noun(what="entities", one=one, names=(entity_type,)))
    for dimension in sorted(vocabulary.dimensions):
        one = said(dimension)
        take([one], Noun(what="values", one=one, names=(dimension,)))
    # An entry is a document that is an entity, else any node of the graph, else any document.
    if "entity" in vocabulary.kinds:
        take(["entry"], Noun(what="entities", one="entry", filters=Filters(kinds=("entity",))))
    elif not vocabulary.names:
        take(["entry"], Noun(what="documents", one="entry"))
    for kind, words in _KINDS.items():
        for one in words.split(", ")[1:]:
            take([one], Noun(what="documents", one=one, filters=Filters(kinds=(kind,))))
    for what, words in _PLAIN.items():
        first, *others = words.split(", ")
        take([first, *others], Noun(what=what, one=first))
    return found
