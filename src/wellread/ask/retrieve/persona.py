"""What somebody would say: what they did say, and that the answer is drawn from it."""

from __future__ import annotations

import re
from dataclasses import replace

from wellread.ask.retrieve.ranking import varied
from wellread.ask.retrieve.relax import search_within
from wellread.ask.retrieve.retrieval import Retrieval
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis
from wellread.text.tokens import key_of
from wellread.types import Hit


def persona(kb: KnowledgeBase, analysis: Analysis) -> Retrieval | None:
    """The persona's own words on the subject, then what names them; None when nobody is named."""
    name = next(iter(_people(analysis)), "")
    if not name:
        return None
    settings = kb.settings.retrieval
    text = analysis.searched
    known = vocabulary_of(kb, analysis.filters.collections).speakers
    spoken = _as_speaker(analysis, known.get(key_of(name), (name,)))
    own = None
    if spoken is not None:
        own = search_within(kb, spoken, text, settings.top_k, purpose=f"what {name} said")
    others = search_within(kb, analysis, text, settings.top_k, purpose=f"what names {name}")
    first = own.hits if own else []
    named = [hit for hit in others.hits if _names(hit, name)]
    hits, dropped = varied([*first, *_not_in(named, first)], settings.top_k, 1.0)
    if not hits:
        return None
    note = (
        f"{name} was not asked this; the answer is drawn from what the sources hold of their views"
    )
    return Retrieval(
        strategy=f"stated views of {name}",
        hits=tuple(hits),
        # Limits that were let go of in search of what somebody never said are nobody's concern.
        relaxed=tuple(dict.fromkeys((*(own.relaxed if own and own.hits else ()), *others.relaxed))),
        failures=tuple(dict.fromkeys((*(own.failures if own else ()), *others.failures))),
        notes=(note,),
        traces=(*(own.traces if own else ()), *others.traces),
        dropped=tuple(dropped),
    )


def _as_speaker(analysis: Analysis, names: tuple[str, ...]) -> Analysis | None:
    """The question limited to what they said; None where the asker asks for other speakers.

    Args:
        names: of one person, as the material writes them.
    """
    filters = analysis.filters
    asked = {each.casefold() for each in filters.speakers}
    meant = tuple(name for name in names if not asked or name.casefold() in asked)
    return replace(analysis, filters=replace(filters, speakers=meant)) if meant else None


def _people(analysis: Analysis) -> list[str]:
    """Names of the question that start with a capital letter and are no numbers."""
    return [name for name in analysis.names if name[:1].isupper()]


def _names(hit: Hit, name: str) -> bool:
    last = re.escape(name.split()[-1].casefold())
    passage = hit.passage
    held = f"{passage.context} {passage.text} {' '.join(passage.speakers)}".casefold()
    return re.search(rf"(?<!\w){last}(?!\w)", held) is not None


def _not_in(hits: list[Hit], others: list[Hit]) -> list[Hit]:
    known = {hit.passage.id for hit in others}
    return [hit for hit in hits if hit.passage.id not in known]
