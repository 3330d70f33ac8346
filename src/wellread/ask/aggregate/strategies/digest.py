"""What is new, with no subject asked for: the newest stories, else the newest documents.

A question like this names nothing to search for, so it is answered from the catalogue.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from wellread.ask.aggregate.newest import Newest, newest_documents, newest_stories
from wellread.ask.aggregate.rows import day
from wellread.ask.aggregate.scope import Scope, in_words, scope_of
from wellread.ask.retrieve.relax import SOURCE_KINDS, narrowed
from wellread.ask.retrieve.retrieval import AggregateResult, Retrieval
from wellread.ask.retrieve.story_search import WINDOW
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis, Constraint
from wellread.text.parsed import parse
from wellread.text.stems import stem
from wellread.text.tokens import Token, tokens_of
from wellread.types import Filters

STRATEGY = "the newest of the catalogue"
MOST_WORDS = 3  # of a name for all there is
LATELY = 30  # newest documents whose passages tell what everything here is about
LEAST_PASSAGES = 20  # fewer do not tell it
EVERYWHERE = 0.8  # of these passages: a word of so many sets nothing apart

_NEWS = frozenset(
    "happened happening headline headlines lately latest new newest news recent recently update "
    "updates".split()
)
_BY_ITSELF = frozenset("headline headlines new newest news".split())
_CATCH_UP = re.compile(
    r"\b(?:catch\s+(?:me|us)\s+up|(?:did|have)\s+(?:i|we)\s+miss(?:ed)?|going\s+on"
    r"|(?:bring|get)\s+(?:me|us)\s+up\s+to\s+(?:date|speed))\b",
    re.IGNORECASE,
)
# What else a question for the news consists of.
_AROUND = frozenset(
    """
    a all an and any anything are around at available be been big biggest bring brief briefly can
    catch change changed changes could currently date day days develop developments did digest do
    does event events everything far few for from get give going had happen has have here i if
    important in interesting is item items just key know last let lets main major me miss
    missed month months most my now of on or our overview past please quick quickly roundup short
    since so some something speed stories story summarize summary tell that the there these
    thing things this to today top up us was we week weeks were what whats which with you your
    archive base collection documents feed feeds knowledge library material sources
    """.split()
)
_LEAD = re.compile(
    r"\W*(?:(?:please|can|could|would|will|you)\s+)*(?P<verb>show|list)\b", re.IGNORECASE
)
# Where everything is, called by what it is and not by a name: "on the islands".
_PLACES = re.compile(
    r"\b(?:across|around|at|from|in|near|of|on|over|within)\s+(?:all\s+)?"
    r"(?:the|this|these|our|my|your)\s+(?:whole\s+)?"
    r"(?P<place>archipelago|area|borough|city|coast|community|country|county|district|island"
    r"|municipality|neighbou?rhood|parish|place|province|region|state|town|valley|village|world)"
    r"(?:e?s)?\b",
    re.IGNORECASE,
)
_NEWS_NOUN = re.compile(r"news\b(?!letter)", re.IGNORECASE)
_SUBJECT = re.compile(r"\b(?:about|concerning|regarding|with|to)\s+(?:the\s+|an?\s+)?$", re.I)
_NOT_RECENT = "nothing is from the last 30 days, so the newest of all dates is listed"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What is looked through, and when.

    Attributes:
        scope: with the limits of the question, but for its time.
        times: the question's limits on time.
        documents: whether documents of a kind are asked for rather than stories.
        most: how many are listed.
    """

    scope: Scope
    times: tuple[Constraint, ...]
    documents: bool
    most: int


def digest(kb: KnowledgeBase, analysis: Analysis) -> Retrieval | None:
    """The newest stories of the asked time, else of the last 30 days, else of all dates.

    Documents stand in where there are no stories of the time. None when the question asks for
    something else than news, or names a subject.

    Raises:
        UnknownCollectionError: the asker's filters name a collection that does not exist.
        StoreError, FingerprintError: a part of the home cannot be used.
    """
    rest = _unread(analysis)
    if rest is None:
        return None
    wanted = _wanted(kb, analysis)
    let_go = _let_go(wanted.scope, analysis, rest)
    if let_go is None:
        return None
    newest, relaxed, notes = _newest(wanted)
    if newest is None:
        return None
    if let_go:
        notes = (f"{let_go}, so the newest of everything is listed", *notes)
    return Retrieval(
        strategy=STRATEGY,
        tally=_tally(wanted, newest),
        relaxed=relaxed,
        notes=notes,
        clusters=len(newest.rows) if newest.stories else 0,
    )


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
    asked = {token.plain for token in tokens} & _NEWS
    told = any(_NEWS_NOUN.match(one.span.of(text)) for one in analysis.constraints)
    timed = any(one.kind == "time" for one in analysis.constraints)
    leans = bool(analysis.context) and not (timed or asked & _BY_ITSELF)
    if not (told or _CATCH_UP.search(text) or (asked and not leans)):
        return None
    return [token for token in tokens if token.plain not in _NEWS | _AROUND]


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


def _wanted(kb: KnowledgeBase, analysis: Analysis) -> _Wanted:
    times = tuple(one for one in analysis.constraints if one.kind == "time")
    told = [
        one
        for one in analysis.constraints
        if one.kind in ("kind", "source_type") and _NEWS_NOUN.match(one.span.of(analysis.question))
    ]
    scope = scope_of(kb, analysis, without=[one.span for one in (*times, *told)])
    return _Wanted(
        scope=scope,
        times=times,
        documents=any(
            one.kind in ("kind", "source_type") and one not in told for one in analysis.constraints
        ),
        most=analysis.max_clusters or kb.settings.qa.max_clusters,
    )


# --- what is new -----------------------------------------------------------------------------


def _newest(
    wanted: _Wanted,
) -> tuple[Newest | None, tuple[Constraint, ...], tuple[str, ...]]:
    """What is newest in the asked time or the last days, else of all dates.

    With the limits of time that were left out, and what else to say.
    """
    asked = narrowed(Filters(), wanted.times)
    own = any(limit.published_from or limit.published_to for limit in wanted.scope.limits)
    if asked is not None and not wanted.times and not own:
        now = datetime.now(UTC)
        asked = Filters(published_from=now - WINDOW, published_to=now + timedelta(days=1))
    if asked is not None and (found := _within(wanted, asked)):
        return found, (), ()
    found = _within(wanted, Filters())
    return found, wanted.times, () if own or wanted.times else (_NOT_RECENT,)


def _within(wanted: _Wanted, time: Filters) -> Newest | None:
    scope = wanted.scope
    if not wanted.documents and (found := newest_stories(scope, time, wanted.most)):
        return found
    sources = any(limit.kinds for limit in scope.limits)
    plain = scope if sources else scope.within(Filters(kinds=SOURCE_KINDS))
    return newest_documents(plain, time, wanted.most)


def _tally(wanted: _Wanted, newest: Newest) -> AggregateResult:
    number = len(newest.rows)
    one, many = ("story", "stories") if newest.stories else ("document", "documents")
    limits = "".join(f", {part}" for part in (*wanted.scope.said, *in_words(newest.time)))
    first, last = day(min(newest.dates)), day(max(newest.dates))
    dates = f"from {first} to {last}" if first != last else f"of {last}"
    return AggregateResult(
        kind="list",
        sentence=f"The newest {f'{number:,} {many}' if number > 1 else one}, {dates}:",
        number=number,
        columns=newest.columns,
        rows=newest.rows,
        method=f"{many} by the date of what is newest in them{limits}; in {wanted.scope.where}",
    )
