"""What a passage leads on to, where the thing that a question names is found and a part is open.

"Who directed the film in which she made her debut?" needs two passages: the one about her names the
film and says no word of a director. The names in it that are titles of other documents are searched
for together with what is still asked; that is one more search.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from wellread.ask.retrieve.retrieval import SearchTrace
from wellread.ask.retrieve.search import look
from wellread.kb import KnowledgeBase
from wellread.text.parsed import parse
from wellread.text.tokens import tokens_of
from wellread.text.words import stem
from wellread.types import Filters, Hit

ANCHORS = 3  # hits, best first, one of which has to be about the thing named
MOST_NAMES = 12  # of its passage that are searched for
DEPTH = 40  # hits of that search that are looked at
ADDED = 2  # documents that it leads on to
BEHIND = 6  # hits that stay before them


@dataclass(frozen=True, slots=True, kw_only=True)
class LedOn:
    """The hits with what the best of them leads on to, and the search that was made for it."""

    hits: list[Hit]
    traces: tuple[SearchTrace, ...] = ()


def led_on(kb: KnowledgeBase, text: str, filters: Filters, hits: Sequence[Hit]) -> LedOn:
    """``hits``, best first, with up to two that the thing named in the question leads to.

    Raises:
        UnknownCollectionError, FingerprintError, StoreError, ModelError: as ``look``.
    """
    asked = frozenset(parse(text).topic_stems)
    anchor = next((hit for hit in hits[:ANCHORS] if _is_about(hit, asked)), None)
    if anchor is None:
        return LedOn(hits=list(hits))
    about = [hit.passage.text for hit in hits if hit.document.id == anchor.document.id]
    left_open = asked - parse("\n".join((anchor.document.title, *about))).stem_set
    found_names = parse(anchor.passage.text).names
    names = [name for name in found_names if not asked.issuperset(map(stem, name.split()))]
    if not left_open or not names:
        return LedOn(hits=list(hits))
    words = " ".join(word for word in parse(text).words if stem(word) in left_open)
    found = look(
        kb,
        f"{'; '.join(names[:MOST_NAMES])} {words}",
        filters,
        purpose=f"what “{anchor.document.title}” leads to",
        limit=DEPTH,
    )
    told = f" {_key(anchor.passage.text)} "
    known = {hit.document.id for hit in (*hits[: BEHIND + ADDED], anchor)}
    added: dict[str, Hit] = {}
    for hit in found.hits:
        title = _key(_bare(hit.document.title))
        if hit.document.id not in known and title and f" {title} " in told:
            added.setdefault(hit.document.id, hit)
    return LedOn(hits=_with(hits, list(added.values())[:ADDED]), traces=(found.look,))


def _is_about(hit: Hit, asked: Iterable[str]) -> bool:
    """Whether the question names the document of ``hit``."""
    title = parse(_bare(hit.document.title)).stem_set
    return bool(title) and title <= frozenset(asked)


def _with(hits: Sequence[Hit], added: Sequence[Hit]) -> list[Hit]:
    """``hits`` with the added ones behind the first few, none twice, scores still falling."""
    new = {hit.passage.id for hit in added}
    first = [hit for hit in hits[:BEHIND] if hit.passage.id not in new]
    rest = [hit for hit in hits[BEHIND:] if hit.passage.id not in new]
    return [*first, *added, *rest]


def _bare(title: str) -> str:
    """A title without what tells it from others of its name ("Charmed (series)")."""
    return title.partition(" (")[0]


def _key(text: str) -> str:
    return " ".join(token.plain for token in tokens_of(text))
