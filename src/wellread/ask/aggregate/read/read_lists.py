"""Reads exploratory questions: entities of which types and values, fitting which words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wellread.ask.aggregate.nouns import Noun
from wellread.ask.aggregate.query import CatalogueQuery, Name, Topic
from wellread.ask.aggregate.read.chunks import noun_of
from wellread.ask.aggregate.scope import scope_of
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis
from wellread.text.english import STOP_WORDS
from wellread.text.stems import stem
from wellread.text.tokens import tokens_of
from wellread.types import Filters

Pair = tuple[str, str]  # dimension and value

# Words of exploratory questions that say nothing about what is looked for.
_FRAMING = frozenset(
    map(
        stem,
        "kind kinds sort sorts type types example examples explore show find entity entities entry "
        "entries list overview relevant interesting different various work working exist "
        "available scale level sector field area topic topics project projects thing things "
        "collection know look involved concerned deal around".split(),
    )
)


def read_list(kb: KnowledgeBase, analysis: Analysis) -> Iterator[CatalogueQuery]:
    """The entity types and taxonomy values in the question's words, and the words that are left.

    Longer values are read before shorter ones.

    Raises:
        UnknownCollectionError: the asker's filters name a collection that does not exist.
        StoreError: the catalogue cannot be read.
    """
    scope = scope_of(kb, (analysis.filters,)).collections
    types = vocabulary_of(kb, scope).entity_types
    tokens = [noun_of(token.plain) for token in tokens_of(analysis.question)]
    left = [True] * len(tokens)
    pairs = {
        (dimension, value)
        for one in kb.catalogue.vocabulary.of(scope)
        for dimension, values in one.taxonomy.items()
        for value in values
        if value not in types
    }
    values: dict[Pair, None] = {}
    for pair in sorted(pairs, key=lambda pair: (-len(pair[1]), pair)):
        phrase = [noun_of(token.plain) for token in tokens_of(pair[1].replace("-", " "))]
        for place in _places(tokens, phrase):
            span = range(place, place + len(phrase))
            if all(left[at] for at in span) or values:
                values[pair] = None
                for at in span:
                    left[at] = False
    asked = set()
    for name in sorted(types):
        for place in _places(tokens, [noun_of(token.plain) for token in tokens_of(name)]):
            asked.add(name)
            left[place] = False
    rest = [
        token.plain
        for token, free in zip(tokens_of(analysis.question), left, strict=True)
        if free and token.plain not in STOP_WORDS
    ]
    dimensions = {noun_of(pair[0]) for pair in pairs}
    telling = [
        word for word in rest if stem(word) not in _FRAMING and noun_of(word) not in dimensions
    ]
    of = Noun(what="entities", one="entity", names=tuple(sorted(asked)))
    about = Topic(names=(Name(phrase=" ".join(telling)),)) if telling else None
    # A node may be a newsletter or a recording; to explore is to look for things with an entry.
    kinds = ("kind", "source_type")
    yield CatalogueQuery(
        form="list",
        of=of,
        about=about,
        where=(analysis.filters, *([Filters(taxonomy=tuple(values))] if values else [])),
        soft=tuple(limit for limit in analysis.constraints if limit.kind not in kinds),
        order="relevance",
    )


def _places(tokens: Sequence[str], phrase: Sequence[str]) -> list[int]:
    """Where the phrase begins."""
    size = len(phrase)
    return [
        at
        for at in range(len(tokens) - size + 1)
        if phrase and list(tokens[at : at + size]) == list(phrase)
    ]
