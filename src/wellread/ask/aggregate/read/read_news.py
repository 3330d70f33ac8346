"""What is new, with no subject asked for: the newest stories, else the newest documents.

A question like this names nothing to search for, so it is answered from the catalogue.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from wellread.ask.aggregate.queries.query import CatalogueQuery, Noun
from wellread.ask.aggregate.queries.scope import Scope, limits_of, scope_of
from wellread.ask.retrieve.relax import narrowed
from wellread.ask.retrieve.story_search import WINDOW
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis, Constraint
from wellread.text.english_catalogue import AROUND_NEWS, NEWS, NEWS_BY_ITSELF
from wellread.text.parsed import parse
from wellread.text.stems import stem
from wellread.text.tokens import Token, tokens_of
from wellread.types import Filters

MOST_WORDS = 3  # of a name for all there is
LATELY = 30  # newest documents whose passages tell what everything here is about
LEAST_PASSAGES = 20  # fewer do not tell it
EVERYWHERE = 0.8  # of these passages: a word of so many sets nothing apart

_CATCH_UP = re.compile(
    r"\b(?:catch\s+(?:me|us)\s+up|(?:did|have)\s+(?:i|we)\s+miss(?:ed)?|going\s+on"
    r"|(?:bring|get)\s+(?:me|us)\s+up\s+to\s+(?:date|speed))\b",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"\W*(?:(?:please|can|could|would|will|you)\s+)*(?P<verb>show|list)\b", re.IGNORECASE
)
# Where everything is, called by what it is and not by a name: "on the islands".
_PLACES = re.compile(
    r"\b(?:across|around|at|from|in|near|of|on|over|within)\s+(?:all\s+)?"
    r"(?:the|this|these|our|my|your)\s+(?:whole\s+)?"
    r"(?P<place>area|borough|city|coast|community|country|county|district|island"
    r"|municipality|neighbou?rhood|parish|place|province|region|state|town|valley|village|world)"
    r"(?:e?s)?\b",
    re.IGNORECASE,
)
_NEWS_NOUN = re.compile(r"news\b(?!letter)", re.IGNORECASE)
_SUBJECT = re.compile(r"\b(?:about|concerning|regarding|with|to)\s+(?:the\s+|an?\s+)?$", re.I)
_THINGS = (Noun(what="stories", one="story"), Noun(what="documents", one="document"))
_NOT_RECENT = "nothing is from the last 30 days, so the newest of all dates is listed"


def read_news(kb: KnowledgeBase, analysis: Analysis) -> Iterator[CatalogueQuery]:
    """The newest stories of the asked time, else of the last 30 days, else of all dates.

    Documents stand in where there are no stories of the time. None when the question asks for
    something else than news, or names a subject.

    Raises:
        UnknownCollectionError: the asker's filters name a collection that does not exist.
        StoreError: the catalogue cannot be read.
    """
    rest = _unread(analysis)
    if rest is None:
        return
    times = [one for one in analysis.constraints if one.kind == "time"]
    kinds = [one for one in analysis.constraints if one.kind in ("kind", "source_type")]
    told = [one for one in kinds if _NEWS_NOUN.match(one.span.of(analysis.question))]
    where = limits_of(analysis, [one.span for one in (*times, *told)])
    let_go = _let_go(scope_of(kb, where), analysis, rest)
    if let_go is None:
        return
    notes = (f"{let_go}, so the newest of everything is listed",) if let_go else ()
    things = _THINGS if len(kinds) == len(told) else _THINGS[1:]
    for time, relaxed, not_recent in _times(where, times):
        for thing in things:
            yield CatalogueQuery(
                form="list",
                of=thing,
                where=(*where, time),
                order="newest",
                limit=analysis.max_clusters or kb.settings.qa.max_clusters,
                relaxed=relaxed,
                notes=(*notes, *not_recent),
            )


def _times(
    where: Sequence[Filters], times: Sequence[Constraint]
) -> Iterator[tuple[Filters, tuple[Constraint, ...], tuple[str, ...]]]:
    """The asked time or the last days, then all dates.

    Each with the limits that are let go of, and what else has to be said.
    """
    asked = narrowed(Filters(), times)
    own = any(limit.published_from or limit.published_to for limit in where)
    if asked is not None and not times and not own:
        now = datetime.now(UTC)
        asked = Filters(published_from=now - WINDOW, published_to=now + timedelta(days=1))
    if asked is not None:
        yield asked, (), ()
    if times or not own:
        yield Filters(), tuple(times), () if times else (_NOT_RECENT,)


# --- the question ----------------------------------------------------------------------------


def _unread(analysis: Analysis) -> list[Token] | None:
    """The words that are none of a question for news; None where no news is asked for.

    After an earlier question "Any updates?" is about that one's subject; "What's new?" is not.
    """
    text = analysis.question
    tokens = [
        token
        for token in tokens_of(text)
        if not any(
            limit.span.start < token.end and token.start < limit.span.end
            for limit in analysis.constraints
        )
    ]
    lead = _LEAD.match(text)
    tokens = [one for one in tokens if not lead or one.start != lead.start("verb")]
    asked = {token.plain for token in tokens} & NEWS
    told = any(_NEWS_NOUN.match(one.span.of(text)) for one in analysis.constraints)
    timed = any(one.kind == "time" for one in analysis.constraints)
    leans = bool(analysis.context) and not (timed or asked & NEWS_BY_ITSELF)
    if not (told or _CATCH_UP.search(text) or (asked and not leans)):
        return None
    return [token for token in tokens if token.plain not in NEWS | AROUND_NEWS]


def _let_go(scope: Scope, analysis: Analysis, rest: Sequence[Token]) -> str | None:
    """Why the words ``rest`` are no subject, empty when there are none; None when they are one."""
    if not rest:
        return ""
    text = analysis.question
    places = {match.start("place") for match in _PLACES.finditer(text)}
    named = [entity.span for entity in analysis.entities]
    own = {stem for name in scope.collections for stem in parse(name).stems}
    left = []
    for token in rest:
        inside = token.start in places and not any(
            span.start <= token.start < span.end for span in named
        )
        if not inside and stem(token.plain) not in own:
            left.append(token)
    if any(_SUBJECT.search(text[: token.start]) for token in left):
        return None
    if len(left) > MOST_WORDS or (
        left and not _everywhere(scope, {stem(token.plain) for token in left})
    ):
        return None
    return f"“{text[rest[0].start : rest[-1].end]}” was read as what all of this is about"


def _everywhere(scope: Scope, stems: set[str]) -> bool:
    """Whether nearly all of the newest passages hold each of the words, titles included."""
    newest = [entry.id for entry in scope.entries() if entry.published_at][-LATELY:]
    titles = {known: one.title for known, one in scope.kb.catalogue.facts(newest).items()}
    held = [
        stems.intersection(parse(f"{titles.get(one.document_id, '')} {one.text}").stems)
        for one in scope.kb.catalogue.passages_of(newest)
    ]
    return len(held) >= LEAST_PASSAGES and all(
        sum(stem in one for one in held) >= EVERYWHERE * len(held) for stem in stems
    )
