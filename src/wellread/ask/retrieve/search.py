"""Runs one hybrid search: candidates per list, score fusion, and a check for live versions.

``search_within`` keeps to the limits of a question, and relaxes one that matches nothing: never a
filter that the user set, else one at a time, and the answer says so.
"""

from __future__ import annotations

import calendar
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from datetime import datetime
from typing import Any, Literal

from wellread.ask.retrieve import ranking
from wellread.ask.retrieve.ranking import Found, Fused, reranked
from wellread.ask.understand.question_parts import WRITTEN
from wellread.config import RetrievalSettings
from wellread.errors import DamageError, StoreError, UnknownCollectionError
from wellread.kb import KnowledgeBase, Parts
from wellread.kb.seen_by import base_of
from wellread.models.base import Excerpt
from wellread.models.open_reader import closeness_weight
from wellread.text.english import SAYING, TOLD_THEN
from wellread.text.sentences import sentence_spans
from wellread.types import KINDS, Candidate, Filters, Hit, ListRank, Passage, Span
from wellread.values.answers import Evidence
from wellread.values.question import Analysis, Constraint, ConstraintKind, SourceRule

logger = logging.getLogger(__name__)

SearchMode = Literal["hybrid", "text", "vector"]
TEXT, VECTOR = "text", "vector"
TRIES = 3  # of a search that runs into a switch to another index
LOWEST = {TEXT: 0.0}  # the score of a passage without a word of the query
CLOSER_LOOKED = 60  # of the joined list, best first, whose words are looked at one by one
CLOSENESS = "closeness"

# Both lists are fetched at the same time; the back ends release the interpreter while they work.
_lists = ThreadPoolExecutor(max_workers=4, thread_name_prefix="wellread-list")


def search(
    kb: KnowledgeBase,
    text: str,
    filters: Filters,
    *,
    mode: SearchMode = "hybrid",
    limit: int = 10,
) -> list[Hit]:
    """The best ``limit`` passages for ``text``, best first, with their rank in every list."""
    check_collections(kb, filters)
    settings = kb.settings.retrieval
    # Reciprocal ranks are no 0-1 scores, so closeness cannot be added to them.
    weighted = mode == "hybrid" and settings.fusion != "rrf"
    closeness = settings.closeness if weighted else 0.0
    for _ in range(TRIES):
        parts = kb.live()
        try:
            lists = _candidates(parts, text, filters, mode, max(settings.candidates, limit))
            hits = _hits(kb, text, _fuse(lists, settings, mode), limit, closeness)
        except StoreError:
            if kb.live() is parts:
                raise
        else:
            # Passages of an index that was switched away meanwhile are live no more.
            if kb.live() is parts:
                if not any(lists.values()):
                    check_index(kb)
                return hits
        logger.info("searching again, because the index was switched")
    raise StoreError("the index was switched again and again during a search", hint="try again")


def check_index(kb: KnowledgeBase) -> None:
    """Raise an error when the index has lost its data, so an empty result is not trusted."""
    whole = base_of(kb)
    if whole.index.rows() == 0 and any(each.passages for each in whole.catalogue.stats()):
        raise DamageError(
            "the index is gone or empty, and the catalogue is not",
            hint="'wellread verify --repair' makes it anew from the catalogue",
        )


def check_collections(kb: KnowledgeBase, filters: Filters) -> None:
    """Raise an error when a collection does not exist."""
    if not filters.collections:
        return
    known = kb.catalogue.collection_names()
    for name in filters.collections:
        if name not in known:
            raise UnknownCollectionError(
                f"there is no collection named {name!r}",
                hint=f"known: {', '.join(known) or 'none yet; add sources first'}",
            )


def _candidates(
    parts: Parts, text: str, filters: Filters, mode: SearchMode, depth: int
) -> dict[str, list[Candidate]]:
    index = parts.index
    pending = {}
    if mode != "vector":
        pending[TEXT] = _lists.submit(index.search_text, text, filters, depth)
    lists: dict[str, list[Candidate]] = {}
    if mode != "text":
        vector = parts.embedder.embed([text], "query")[0]
        lists[VECTOR] = index.search_vector(vector, filters, depth)
    return lists | {name: future.result() for name, future in pending.items()}


def _fuse(
    lists: dict[str, list[Candidate]], settings: RetrievalSettings, mode: SearchMode
) -> list[Fused]:
    fusion = settings.fusion if mode == "hybrid" else mode
    if fusion == "rrf":
        return ranking.reciprocal_rank(lists)
    share = {"text": 0.0, "vector": 1.0}.get(fusion, settings.vector_weight)
    return ranking.weighted(lists, {VECTOR: share, TEXT: 1 - share}, LOWEST)


def _hits(
    kb: KnowledgeBase, text: str, fused: Sequence[Fused], limit: int, closeness: float
) -> list[Hit]:
    """The best ``limit`` candidates that are live, with text and metadata."""
    hits: list[Hit] = []
    # Nearly all candidates are live, so a second look beyond the first few is rare.
    step = max(limit, CLOSER_LOOKED) if closeness else limit
    for start in range(0, len(fused), step):
        part = fused[start : start + step]
        passages = kb.catalogue.live_passages([item.candidate.passage_id for item in part])
        if start == 0 and closeness:
            part = _closest_first(kb, text, part, passages, closeness)
        live = [item for item in part if item.candidate.passage_id in passages]
        live = live[: limit - len(hits)]
        facts = kb.catalogue.facts({item.candidate.document_id for item in live})
        for item in live:
            document = facts.get(item.candidate.document_id)
            if document and document.version == item.candidate.version:
                similar = (place.score for place in item.ranks if place.name == VECTOR)
                hits.append(
                    Hit(
                        passage=passages[item.candidate.passage_id],
                        document=document,
                        score=item.score,
                        ranks=item.ranks,
                        similarity=next(similar, None),
                    )
                )
        if len(hits) >= limit:
            break
    return hits


def _closest_first(
    kb: KnowledgeBase,
    text: str,
    fused: Sequence[Fused],
    passages: Mapping[str, Passage],
    weight: float,
) -> list[Fused]:
    """The fused list reordered by how close together the words of ``text`` occur.

    Candidates beyond the first ``CLOSER_LOOKED`` keep their share of the score and stay behind.
    """
    looked = [item for item in fused if item.candidate.passage_id in passages][:CLOSER_LOOKED]
    read = [passages[item.candidate.passage_id] for item in looked]
    excerpts = [Excerpt(text=passage.text, title=passage.context) for passage in read]
    close = kb.lexical.relevance(text, excerpts).tolist()
    share = weight * closeness_weight(text, [passage.text for passage in read])
    order = sorted(range(len(close)), key=lambda place: -close[place])
    scored = {}
    for rank, place in enumerate(order, 1):
        item = looked[place]
        by_words = ListRank(name=CLOSENESS, rank=rank, score=round(close[place], 4))
        score = (1 - share) * item.score + share * close[place]
        scored[item.candidate.passage_id] = replace(
            item, score=score, ranks=(*item.ranks, by_words)
        )
    rest = [
        replace(item, score=(1 - share) * item.score)
        for item in fused
        if item.candidate.passage_id not in scored
    ]
    return [
        *sorted(scored.values(), key=lambda item: (-item.score, item.candidate.passage_id)),
        *rest,
    ]


# --- sources that the asker prefers --------------------------------------------------------------
# A factor is bounded, so that a liked source never beats one that fits far better; only what the
# asker muted is left out.

HIGHER, LOWER = 1.2, 0.8
PREFERRED, LOWERED = "preferred by you", "ranked lower by you"
BEST = 5  # hits among which a muted source would have mattered


def by_preference(analysis: Analysis, hits: Sequence[Hit]) -> list[Hit]:
    """The hits reordered by the user's source preferences, without muted sources."""
    liked = analysis.liking
    if not (liked.preferred or liked.lowered or liked.muted):
        return list(hits)
    scored = [_weighed(analysis, hit) for hit in hits if not muted(analysis, hit)]
    return sorted(scored, key=lambda hit: -hit.score)


def muted(analysis: Analysis, hit: Hit) -> bool:
    """Whether the user muted the hit's source and did not ask for it in this question."""
    return any(
        rule.fits(hit.document) and not _asked_for(analysis, rule) for rule in analysis.liking.muted
    )


def muted_words(analysis: Analysis, best: Sequence[Hit]) -> str:
    """A note on what muting removed from the ``best`` hits; empty when nothing."""
    titles = dict.fromkeys(hit.document.title for hit in best if muted(analysis, hit))
    named = ", ".join(f"“{title}”" for title in titles)
    return f"muted by you and not used, though among the best: {named}" if named else ""


def _weighed(analysis: Analysis, hit: Hit) -> Hit:
    liked = analysis.liking
    for rules, factor, name in (
        (liked.preferred, HIGHER, PREFERRED),
        (liked.lowered, LOWER, LOWERED),
    ):
        if any(rule.fits(hit.document) for rule in rules):
            rank = ListRank(name=name, rank=1, score=factor)
            return replace(hit, score=min(1.0, hit.score * factor), ranks=(*hit.ranks, rank))
    return hit


def _asked_for(analysis: Analysis, rule: SourceRule) -> bool:
    """Whether the user's filters or the question name the subject of the rule."""
    limits = [analysis.filters, *(constraint.filters for constraint in analysis.constraints)]
    fields = {"document": "document_ids", "site": ""}
    field = fields.get(rule.kind, f"{rule.kind}s")
    named = [value.casefold() for limit in limits for value in (field and getattr(limit, field))]
    return rule.value.casefold() in named


LONGEST = 24  # months that are named one by one
# Words by which a question asks for what was said or published then, not for what happened.
_TOLD_THEN = re.compile(rf"\b(?:{TOLD_THEN})\b", re.IGNORECASE)


def period_named(question: str, filters: Filters) -> re.Pattern[str] | None:
    """What a text that names the time window of ``filters`` matches.

    None where there is no window of whole months or of one day, or where ``question`` asks for
    what was said or published in it.
    """
    since, until = filters.published_from, filters.published_to
    if since is None or until is None or _TOLD_THEN.search(question):
        return None
    if since.date() == until.date():
        return re.compile(_day(since), re.IGNORECASE)
    months = _months(since, until)
    if not months:
        return None
    years = {year for year, _ in months}
    whole = [str(year) for year in years if all((year, month) in months for month in range(1, 13))]
    forms = [rf"\b{year}\b" for year in whole]
    forms += [_month(year, month) for year, month in months if str(year) not in whole]
    return re.compile("|".join(sorted(forms)), re.IGNORECASE)


def _months(since: datetime, until: datetime) -> list[tuple[int, int]]:
    """The months from ``since`` to ``until``; none for partial months or too long a period."""
    last = calendar.monthrange(until.year, until.month)[1]
    count = 12 * (until.year - since.year) + until.month - since.month + 1
    if since.day != 1 or until.day != last or not 0 < count <= LONGEST:
        return []
    first = 12 * since.year + since.month - 1
    return [(at // 12, at % 12 + 1) for at in range(first, first + count)]


def _month(year: int, month: int) -> str:
    return rf"\b(?:{_name(month)},?\s+{year}|{year}-{month:02})\b"


def _day(day: datetime) -> str:
    name = _name(day.month)
    number = rf"{day.day}(?:st|nd|rd|th)?"
    worded = rf"(?:{number}\s+(?:of\s+)?{name}|{name}\s+{number}),?\s+{day.year}"
    dotted = rf"0?{day.day}\.0?{day.month}\.{day.year}"
    return rf"\b(?:{worded}|{day.year}-{day.month:02}-{day.day:02}|{dotted})\b"


def _name(month: int) -> str:
    full, short = calendar.month_name[month], calendar.month_abbr[month]
    return rf"(?:{full}|{short}\.?)"


SOURCE_KINDS = tuple(kind for kind in KINDS if kind != "qa")
# Which goes first when only all of them together match nothing: the ones that a question's words
# set least surely.
LET_GO: tuple[ConstraintKind, ...] = (
    "taxonomy",
    "source_type",
    "kind",
    "language",
    "author",
    "time",
    "speaker",
    "collection",
)


def narrowed(filters: Filters, constraints: Sequence[Constraint]) -> Filters | None:
    """``filters`` combined with every constraint; None when two exclude each other."""
    joined: Filters | None = filters
    for constraint in constraints:
        joined = None if joined is None else intersect_filters(joined, constraint.filters)
    return joined


def search_within(kb: KnowledgeBase, analysis: Analysis, text: str, limit: int) -> Found:
    """The best passages for ``text`` within the limits of the question that match anything.

    Beside the passages of the requested time are passages of any date that name that time, and
    beside a speaker's words are reports of what the speaker said.
    """
    kept = list(analysis.constraints)
    relaxed: list[Constraint] = []
    while True:
        filters = narrowed(analysis.filters, kept)
        lists = [] if filters is None else [_sources(kb, text, filters, limit)]
        lists += _naming(kb, analysis, kept, limit)
        lists += _reporting(kb, analysis, kept, limit)
        hits = _joined(lists, limit)
        if hits or not kept:
            break
        for constraint in _least_sure(kept) if relaxed else _unmet(kb, analysis, text, kept):
            kept.remove(constraint)
            relaxed.append(constraint)
    failure = ""
    if kb.reader.reranks:
        settings = kb.settings.reader
        hits, failure = reranked(kb.reader, text, hits, settings.depth, settings.weight)
    return Found(
        hits=tuple(by_preference(analysis, hits)),
        filters=filters or analysis.filters,
        relaxed=tuple(relaxed),
        failures=(failure,) if failure else (),
    )


def _naming(
    kb: KnowledgeBase, analysis: Analysis, kept: Sequence[Constraint], limit: int
) -> list[list[Hit]]:
    """Passages of any date that name the requested time; empty if no time is requested."""
    timed = next((constraint for constraint in kept if constraint.kind == "time"), None)
    named = period_named(analysis.question, timed.filters) if timed is not None else None
    rest = narrowed(analysis.filters, [one for one in kept if one is not timed])
    if named is None or rest is None:
        return []
    # The whole question: its words for the time are what these passages are found by.
    found = _sources(kb, analysis.question, rest, limit)
    return [[hit for hit in found if named.search(f"{hit.passage.context}\n{hit.passage.text}")]]


def _reporting(
    kb: KnowledgeBase, analysis: Analysis, kept: Sequence[Constraint], limit: int
) -> list[list[Hit]]:
    """Written passages that report what the requested speaker said; empty without a speaker."""
    spoken = next((constraint for constraint in kept if constraint.kind == "speaker"), None)
    written = intersect_filters(analysis.filters, Filters(kinds=WRITTEN))
    rest = written and narrowed(written, [one for one in kept if one is not spoken])
    if spoken is None or rest is None:
        return []
    found = _sources(kb, analysis.question, rest, limit)
    speakers = spoken.filters.speakers
    return [[hit for hit in found if attributes_speech_to(hit.passage.text, speakers)]]


def _joined(lists: Sequence[list[Hit]], limit: int) -> list[Hit]:
    """The hits of all searches, best first, without duplicates."""
    if len(lists) == 1:
        return lists[0]
    best: dict[str, Hit] = {}
    for hit in (hit for hits in lists for hit in hits):
        earlier = best.get(hit.passage.id)
        if earlier is None or earlier.score < hit.score:
            best[hit.passage.id] = hit
    return sorted(best.values(), key=lambda hit: (-hit.score, hit.passage.id))[:limit]


def _sources(kb: KnowledgeBase, text: str, filters: Filters, limit: int) -> list[Hit]:
    """The best passages without past questions, unless these are requested by kind.

    A past answer may be wrong, and its feedback would be lost.
    """
    hits = search(kb, text, filters, limit=limit)
    if not filters.kinds and any(hit.document.kind == "qa" for hit in hits):
        hits = search(kb, text, replace(filters, kinds=SOURCE_KINDS), limit=limit)
    return hits


def _unmet(
    kb: KnowledgeBase, analysis: Analysis, text: str, kept: Sequence[Constraint]
) -> list[Constraint]:
    """The constraints to relax first: those without any match, else one of the rest."""
    if len(kept) == 1:
        return list(kept)
    alone = [
        constraint
        for constraint in kept
        if (filters := narrowed(analysis.filters, [constraint])) is None
        or not _sources(kb, text, filters, 1)
    ]
    return alone or _least_sure(kept)


def _least_sure(kept: Sequence[Constraint]) -> list[Constraint]:
    return [min(kept, key=lambda constraint: LET_GO.index(constraint.kind))]


def intersect_filters(one: Filters, other: Filters) -> Filters | None:
    """The intersection of two filters; None when nothing can match."""
    joined: dict[str, Any] = {}
    for field in fields(Filters):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        if not mine or not theirs:
            joined[field.name] = mine or theirs
            continue
        if field.name == "taxonomy":  # dimensions add up, values of one are alternatives
            shared = _taxonomy(mine, theirs)
        elif isinstance(mine, datetime):
            shared = max(mine, theirs) if field.name == "published_from" else min(mine, theirs)
        elif field.name in ("authors", "speakers"):  # as the index does, names without case
            names = {name.casefold() for name in theirs}
            shared = tuple(name for name in mine if name.casefold() in names)
        else:
            shared = tuple(value for value in mine if value in theirs)
        if not shared:
            return None
        joined[field.name] = shared
    made = Filters(**joined)
    since, until = made.published_from, made.published_to
    return None if since and until and since > until else made


Pairs = tuple[tuple[str, str], ...]


def _taxonomy(mine: Pairs, theirs: Pairs) -> Pairs | None:
    kept = list(mine)
    for dimension in dict.fromkeys(name for name, _ in theirs):
        wanted = [pair for pair in theirs if pair[0] == dimension]
        there = [pair for pair in mine if pair[0] == dimension]
        if there:
            shared = [pair for pair in there if pair in wanted]
            if not shared:
                return None
            kept = [pair for pair in kept if pair[0] != dimension or pair in shared]
        else:
            kept += wanted
    return tuple(kept)


# --- whose words they are ---

SHORTEST_PART = 3  # letters of a first or last name by which a person is called

_SAYING = "|".join(sorted(SAYING, key=len, reverse=True))


def is_said_by(piece: Evidence, speaker: str, text: str, voices: Iterable[str]) -> bool:
    """Whether one of ``voices`` says ``text`` or is reported as saying it."""
    if piece.turns:
        return speaker.casefold() in {voice.casefold() for voice in voices}
    return attributes_speech_to(text, voices)


def text_of(piece: Evidence, span: Span) -> str:
    """The text of ``span``, of the piece's document."""
    return piece.text[span.start - piece.span.start : span.end - piece.span.start]


def sentences_of(piece: Evidence) -> Iterator[tuple[str, Span]]:
    """The sentences of the piece with their speakers, split at speaker changes."""
    first = piece.span.start
    turns = [(each.speaker, each.span.start - first, each.span.end - first) for each in piece.turns]
    for speaker, start, end in turns or [("", 0, len(piece.text))]:
        for span in sentence_spans(piece.text[start:end]):
            yield speaker, Span(start=start + span.start, end=start + span.end)


def attributes_speech_to(sentence: str, speakers: Iterable[str]) -> bool:
    """Whether ``sentence`` attributes speech to one of ``speakers`` by name."""
    called = _called(speakers)
    return any(name in sentence for name in called) and bool(_pattern(called).search(sentence))


def _called(known: Iterable[str]) -> dict[str, set[str]]:
    """What people may be called (whole name, first, last) to whom that may be."""
    called: dict[str, set[str]] = {}
    for name in known:
        parts = name.split()
        for each in {name, *(parts[:1] + parts[-1:])}:
            if len(each) >= SHORTEST_PART or each == name:
                called.setdefault(each, set()).add(name)
    return called


def _pattern(called: Mapping[str, object]) -> re.Pattern[str]:
    one = "|".join(re.escape(name) for name in sorted(called, key=len, reverse=True))
    who = rf"(?<!\w)(?:{one})(?:(?:\s*,\s*|\s*,?\s+and\s+)(?:{one}))*(?!\w)"
    between = r"(?:\s*,[^,.]{1,60},)?\s+(?:\w+ly\s+|also\s+|then\s+|has\s+|had\s+|both\s+){0,2}"
    after = r"(?:\s+(?:out\s+)?(?:that|how|why|whether))?\s*[:,]?\s*"
    return re.compile(
        rf"(?:As\s+|as\s+)?{who}{between}(?:{_SAYING})\b{after}"
        rf"|(?:[Aa]ccording\s+to|[Ff]or)\s+{who}\s*,\s*"
        rf"|,?\s*[Aa]ccording\s+to\s+{who}"
        rf"|[Ii]n\s+(?:{who})['’]s?\s+(?:view|opinion|words|eyes)\s*,?\s*"
        rf"|^\W*{who}\s*:\s*"
        rf"|[,”\"]\s*(?:{_SAYING})\s+{who}"
    )
