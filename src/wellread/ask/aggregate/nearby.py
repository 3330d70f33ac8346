"""What is near to words that were not found: names that look alike, and the words one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rapidfuzz import fuzz, process, utils

from wellread.ask.aggregate.rows import amount
from wellread.ask.aggregate.scope import Scope
from wellread.ask.aggregate.word_holders import holding
from wellread.ask.retrieve.retrieval import Row
from wellread.text.parsed import parse
from wellread.text.stems import stem

MOST_ALIKE = 5
LEAST_ALIKE = 80.0  # of 100, of words
LEAST_ALIKE_NAME = 65.0
SHORTEST_WORD = 4


def nearby(scope: Scope, phrase: str, apart: tuple[str, ...] = ()) -> list[Row]:
    """Rows of what is near to ``phrase``.

    Args:
        apart: documents that hold its words, but not as a phrase.
    """
    rows = _alike_names(scope, phrase)
    if apart:
        rows.append(
            Row(
                cells=(f"the words of “{phrase}”", f"apart, in {_documents(len(apart))}"),
                document_ids=apart,
            )
        )
    terms = [term for term in parse(phrase).terms if len(term) >= SHORTEST_WORD]
    held = {term: holding(scope, term).counts for term in terms} if len(terms) > 1 else {}
    rows += _alike_words(scope, [term for term in terms if not _stands(scope, term, held)])
    rows += [
        Row(
            cells=(term, f"a word of it, in {_documents(len(counts))}"),
            document_ids=tuple(counts),
        )
        for term, counts in held.items()
        if counts
    ]
    return list({row.cells[0].casefold(): row for row in reversed(rows)}.values())[::-1]


def _alike_names(scope: Scope, phrase: str) -> list[Row]:
    """Entities with a name that looks like it, inside the limits."""
    if not scope.collections:
        return []
    nodes = scope.kb.catalogue.graph.near(scope.collections, phrase, MOST_ALIKE)
    inside = {entry.id for entry in scope.entries()} if scope.limited else None
    return [
        Row(
            cells=(node.title, f"{node.type or 'entity'} with a similar name"),
            document_ids=node.documents,
        )
        for node in nodes
        if (inside is None or inside.intersection(node.documents))
        and any(_alike(phrase, name) for name in (node.title, *node.aliases))
    ]


def _alike(phrase: str, name: str) -> bool:
    """Whether a name is like the phrase as a whole; ``near`` also finds those alike in part."""
    likeness = fuzz.token_sort_ratio(phrase, name, processor=utils.default_process)
    return likeness >= LEAST_ALIKE_NAME


def _stands(scope: Scope, term: str, held: Mapping[str, Mapping[str, int]]) -> bool:
    """Whether the material has the word as it is spelt: then no other spelling was meant."""
    if held.get(term):
        return True
    return scope.limited and bool(holding(scope.unlimited(), term).counts)


def _alike_words(scope: Scope, terms: Sequence[str]) -> list[Row]:
    """Words of titles and values of the taxonomy that look like one of ``terms``."""
    places: dict[str, dict[str, None]] = {}
    for entry in scope.entries():
        for word in parse(entry.title).terms:
            places.setdefault(word, {})[entry.id] = None
    for (_, value), ids in scope.kb.catalogue.censuses.taxonomy(scope.limits).items():
        places.setdefault(value.casefold(), {}).update(dict.fromkeys(ids))
    found: dict[str, float] = {}
    for term in terms:
        for word, likeness, _ in process.extract(
            term, places.keys(), scorer=fuzz.ratio, limit=MOST_ALIKE, score_cutoff=LEAST_ALIKE
        ):
            if stem(word) != stem(term):
                found[word] = max(likeness, found.get(word, 0.0))
    best = sorted(found, key=lambda word: (-found[word], word))[:MOST_ALIKE]
    return [
        Row(
            cells=(
                word,
                f"a similar word, in the title or taxonomy of {_documents(len(places[word]))}",
            ),
            document_ids=tuple(places[word]),
        )
        for word in best
    ]


def _documents(number: int) -> str:
    return amount(number, "document", "documents")
