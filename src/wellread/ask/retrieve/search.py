"""Hybrid search (words and vectors); a question's filters that match nothing are relaxed.

``search_within`` never relaxes a filter that the user set; limits read from the question are
relaxed one at a time, and the answer says so.
"""

from __future__ import annotations

import calendar
import logging
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from datetime import datetime
from typing import Any, Literal

from wellread.ask.retrieve import ranking
from wellread.ask.retrieve.ranking import Found, Fused, reranked
from wellread.ask.understand.question_parts import WRITTEN_KINDS
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.config import RetrievalSettings
from wellread.errors import DamageError, StoreError, UnknownCollectionError
from wellread.kb import KnowledgeBase, Parts
from wellread.kb.seen_by import base_of
from wellread.models.base import Excerpt, reads
from wellread.models.open_reader import closeness_weight
from wellread.text.english import SAYING, TOLD_THEN
from wellread.text.languages import language_of
from wellread.text.parsed import Text, index_text, number_forms, parse
from wellread.text.sentences import sentence_spans
from wellread.types import KINDS, Candidate, Filters, Hit, ListRank, Passage, Span
from wellread.values.answers import Evidence
from wellread.values.question import Analysis, Constraint, ConstraintKind, SourceRule

logger = logging.getLogger(__name__)

SearchMode = Literal["hybrid", "text", "vector"]
TEXT, VECTOR = "text", "vector"
MAX_TRIES = 3  # attempts at a search during which the index is switched
LOWEST_SCORES = {TEXT: 0.0}  # the score of a passage without a word of the query
CLOSENESS_DEPTH = 60  # best candidates whose distances between words are measured
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
    # Reciprocal ranks are not scores from 0 to 1, so closeness cannot be added to them.
    weighted = mode == "hybrid" and settings.fusion != "rrf"
    closeness = settings.closeness if weighted else 0.0
    languages = vocabulary_of(kb, filters.collections).languages
    words = index_text(number_forms(text), sorted(languages))
    language = language_of(text, languages)
    for _ in range(MAX_TRIES):
        parts = kb.live()
        try:
            depth = max(settings.candidates, limit)
            lists = _candidates(parts, text, words, filters, mode, depth)
            fused = _fuse(lists, settings, mode)
            hits = _hits(kb, parse(text, language), fused, limit, closeness)
        except StoreError:
            if kb.live() is parts:
                raise
        else:
            # Passages of an index that was replaced meanwhile are no longer live.
            if kb.live() is parts:
                if not any(lists.values()):
                    check_index(kb)
                return hits
        logger.info("searching again, because the index was switched")
    raise StoreError("the index was switched again and again during a search", hint="try again")


def check_index(kb: KnowledgeBase) -> None:
    """Raise an error when the index has lost its data, so that an empty result is not trusted."""
    base = base_of(kb)
    if base.index.rows() == 0 and any(stats.passages for stats in base.catalogue.listings.kinds()):
        raise DamageError(
            "the index is gone or empty, and the catalogue is not",
            hint="'wellread verify --repair' rebuilds it from the catalogue",
        )


def check_collections(kb: KnowledgeBase, filters: Filters) -> None:
    """Raise an error when a collection does not exist."""
    if not filters.collections:
        return
    existing = kb.catalogue.collection_names()
    for name in filters.collections:
        if name not in existing:
            raise UnknownCollectionError(
                f"there is no collection named {name!r}",
                hint=f"known: {', '.join(existing) or 'none yet; add sources first'}",
            )


def _candidates(
    parts: Parts, text: str, words: str, filters: Filters, mode: SearchMode, depth: int
) -> dict[str, list[Candidate]]:
    index = parts.index
    if mode == "hybrid" and not reads(parts.embedder, text):
        mode = "text"  # vectors of a script that the embedder cannot read have no vote
    pending = {}
    if mode != "vector":
        pending[TEXT] = _lists.submit(index.search_text, words, filters, depth)
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
    return ranking.weighted(lists, {VECTOR: share, TEXT: 1 - share}, LOWEST_SCORES)


def _hits(
    kb: KnowledgeBase, text: Text, fused: Sequence[Fused], limit: int, closeness: float
) -> list[Hit]:
    """The best ``limit`` candidates that are live, with text and metadata."""
    hits: list[Hit] = []
    # Nearly all candidates are live, so a second step is rare.
    step = max(limit, CLOSENESS_DEPTH) if closeness else limit
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
                cosines = (rank.score for rank in item.ranks if rank.name == VECTOR)
                hits.append(
                    Hit(
                        passage=passages[item.candidate.passage_id],
                        document=document,
                        score=item.score,
                        ranks=item.ranks,
                        similarity=next(cosines, None),
                    )
                )
        if len(hits) >= limit:
            break
    return hits


def _closest_first(
    kb: KnowledgeBase,
    text: Text,
    fused: Sequence[Fused],
    passages: Mapping[str, Passage],
    weight: float,
) -> list[Fused]:
    """The fused list reordered by how close together the words of ``text`` occur.

    Candidates beyond the first ``CLOSENESS_DEPTH`` get no closeness score and follow the others.
    """
    measured = [item for item in fused if item.candidate.passage_id in passages][:CLOSENESS_DEPTH]
    texts = [passages[item.candidate.passage_id] for item in measured]
    excerpts = [Excerpt(text=passage.text, title=passage.context) for passage in texts]
    closeness = kb.lexical.relevance(text.content, excerpts, text.language).tolist()
    share = weight * closeness_weight(text.content, [passage.text for passage in texts])
    order = sorted(range(len(closeness)), key=lambda index: -closeness[index])
    scored = {}
    for rank, index in enumerate(order, 1):
        item = measured[index]
        by_words = ListRank(name=CLOSENESS, rank=rank, score=round(closeness[index], 4))
        score = (1 - share) * item.score + share * closeness[index]
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
# The factors are small, so that a preferred source never beats one that fits far better; only muted
# sources are left out.

HIGHER, LOWER = 1.2, 0.8
PREFERRED, LOWERED = "preferred by you", "ranked lower by you"
MUTED_DEPTH = 5  # hits; a muted source among them is mentioned in a note


def by_preference(analysis: Analysis, hits: Sequence[Hit]) -> list[Hit]:
    """The hits reordered by the user's source preferences, without muted sources."""
    liked = analysis.liking
    if not (liked.preferred or liked.lowered or liked.muted):
        return list(hits)
    scored = [_weigh(analysis, hit) for hit in hits if not muted(analysis, hit)]
    return sorted(scored, key=lambda hit: -hit.score)


def muted(analysis: Analysis, hit: Hit) -> bool:
    """Whether the user muted the hit's source and did not ask for it in this question."""
    return any(
        rule.fits(hit.document) and not _is_requested(analysis, rule)
        for rule in analysis.liking.muted
    )


def muted_words(analysis: Analysis, best: Sequence[Hit]) -> str:
    """A note on the muted sources among the ``best`` hits; empty without one."""
    titles = dict.fromkeys(hit.document.title for hit in best if muted(analysis, hit))
    listing = ", ".join(f"“{title}”" for title in titles)
    return f"muted by you and not used, though among the best: {listing}" if listing else ""


def _weigh(analysis: Analysis, hit: Hit) -> Hit:
    liked = analysis.liking
    for rules, factor, name in (
        (liked.preferred, HIGHER, PREFERRED),
        (liked.lowered, LOWER, LOWERED),
    ):
        if any(rule.fits(hit.document) for rule in rules):
            rank = ListRank(name=name, rank=1, score=factor)
            return replace(hit, score=min(1.0, hit.score * factor), ranks=(*hit.ranks, rank))
    return hit


def _is_requested(analysis: Analysis, rule: SourceRule) -> bool:
    """Whether the user's filters or the question name the subject of the rule."""
    limits = [analysis.filters, *(constraint.filters for constraint in analysis.constraints)]
    fields = {"document": "document_ids", "site": ""}
    field = fields.get(rule.kind, f"{rule.kind}s")
    requested = [
        value.casefold() for limit in limits for value in (field and getattr(limit, field))
    ]
    return rule.value.casefold() in requested


MAX_MONTHS = 24  # months that are matched by name, one by one
# Words by which a question asks for what was said or published then, not for what happened.
_TOLD_THEN = re.compile(rf"\b(?:{TOLD_THEN})\b", re.IGNORECASE)


def period_named(question: str, filters: Filters) -> re.Pattern[str] | None:
    """A pattern that matches texts that name the time window of ``filters``.

    None unless the window is one day or whole months, and None if ``question`` asks for what was
    said or published in it.
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
    full_years = [year for year in years if all((year, month) in months for month in range(1, 13))]
    forms = [rf"\b{year}\b" for year in full_years]
    forms += [_month(year, month) for year, month in months if year not in full_years]
    return re.compile("|".join(sorted(forms)), re.IGNORECASE)


def _months(since: datetime, until: datetime) -> list[tuple[int, int]]:
    """The months from ``since`` to ``until``; none for partial months or too long a period."""
    last = calendar.monthrange(until.year, until.month)[1]
    count = 12 * (until.year - since.year) + until.month - since.month + 1
    if since.day != 1 or until.day != last or not 0 < count <= MAX_MONTHS:
        return []
    first = 12 * since.year + since.month - 1
    return [(number // 12, number % 12 + 1) for number in range(first, first + count)]


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
# The order in which limits are relaxed when only all of them together match nothing: the ones that
# the words of a question imply least clearly come first.
RELAX_ORDER: tuple[ConstraintKind, ...] = (
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

    Passages of any date that name the requested time are added, as are reports of what a requested
    speaker said.
    """
    constraints = list(analysis.constraints)
    relaxed: list[Constraint] = []
    while True:
        filters = narrowed(analysis.filters, constraints)
        lists = [] if filters is None else [_search_sources(kb, text, filters, limit)]
        lists += _passages_naming_time(kb, analysis, constraints, limit)
        lists += _passages_reporting_speech(kb, analysis, constraints, limit)
        hits = _join_by_score(lists, limit)
        if hits or not constraints:
            break
        for constraint in (
            _least_certain(constraints)
            if relaxed
            else _constraints_to_relax(kb, analysis, text, constraints)
        ):
            constraints.remove(constraint)
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


def _passages_naming_time(
    kb: KnowledgeBase, analysis: Analysis, constraints: Sequence[Constraint], limit: int
) -> list[list[Hit]]:
    """Passages of any date that name the requested time; empty if no time is requested."""
    timed = next((constraint for constraint in constraints if constraint.kind == "time"), None)
    period = period_named(analysis.question, timed.filters) if timed is not None else None
    others = [constraint for constraint in constraints if constraint is not timed]
    rest = narrowed(analysis.filters, others)
    if period is None or rest is None:
        return []
    # Searched by the whole question, since its words for the time find these passages.
    hits = _search_sources(kb, analysis.question, rest, limit)
    return [[hit for hit in hits if period.search(f"{hit.passage.context}\n{hit.passage.text}")]]


def _passages_reporting_speech(
    kb: KnowledgeBase, analysis: Analysis, constraints: Sequence[Constraint], limit: int
) -> list[list[Hit]]:
    """Written passages that report what the requested speaker said; empty without a speaker."""
    spoken = next((constraint for constraint in constraints if constraint.kind == "speaker"), None)
    written = intersect_filters(analysis.filters, Filters(kinds=WRITTEN_KINDS))
    others = [constraint for constraint in constraints if constraint is not spoken]
    rest = written and narrowed(written, others)
    if spoken is None or rest is None:
        return []
    hits = _search_sources(kb, analysis.question, rest, limit)
    speakers = spoken.filters.speakers
    return [[hit for hit in hits if attributes_speech_to(hit.passage.text, speakers)]]


def _join_by_score(lists: Sequence[list[Hit]], limit: int) -> list[Hit]:
    if len(lists) == 1:
        return lists[0]
    best: dict[str, Hit] = {}
    for hit in (hit for hits in lists for hit in hits):
        earlier = best.get(hit.passage.id)
        if earlier is None or earlier.score < hit.score:
            best[hit.passage.id] = hit
    return sorted(best.values(), key=lambda hit: (-hit.score, hit.passage.id))[:limit]


def _search_sources(kb: KnowledgeBase, text: str, filters: Filters, limit: int) -> list[Hit]:
    """The best passages, without past questions unless the filters request them.

    A past answer may be wrong, and a passage does not show the feedback on it.
    """
    hits = search(kb, text, filters, limit=limit)
    if not filters.kinds and any(hit.document.kind == "qa" for hit in hits):
        hits = search(kb, text, replace(filters, kinds=SOURCE_KINDS), limit=limit)
    return hits


def _constraints_to_relax(
    kb: KnowledgeBase, analysis: Analysis, text: str, constraints: Sequence[Constraint]
) -> list[Constraint]:
    """The constraints to relax first: those without any match, else one of the rest."""
    if len(constraints) == 1:
        return list(constraints)
    unmatched = [
        constraint
        for constraint in constraints
        if (filters := narrowed(analysis.filters, [constraint])) is None
        or not _search_sources(kb, text, filters, 1)
    ]
    return unmatched or _least_certain(constraints)


def _least_certain(constraints: Sequence[Constraint]) -> list[Constraint]:
    return [min(constraints, key=lambda constraint: RELAX_ORDER.index(constraint.kind))]


def intersect_filters(one: Filters, other: Filters) -> Filters | None:
    """The intersection of two filters; None when nothing can match."""
    joined: dict[str, Any] = {}
    for field in fields(Filters):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        if not mine or not theirs:
            joined[field.name] = mine or theirs
            continue
        if field.name == "taxonomy":  # all dimensions must match, by any of their values
            shared = _intersect_taxonomies(mine, theirs)
        elif isinstance(mine, datetime):
            shared = max(mine, theirs) if field.name == "published_from" else min(mine, theirs)
        elif field.name in ("authors", "speakers"):  # without case, like the index
            names = {name.casefold() for name in theirs}
            shared = tuple(name for name in mine if name.casefold() in names)
        else:
            shared = tuple(value for value in mine if value in theirs)
        if not shared:
            return None
        joined[field.name] = shared
    filters = Filters(**joined)
    since, until = filters.published_from, filters.published_to
    return None if since and until and since > until else filters


Pairs = tuple[tuple[str, str], ...]


def _intersect_taxonomies(mine: Pairs, theirs: Pairs) -> Pairs | None:
    joined = list(mine)
    for dimension in dict.fromkeys(name for name, _ in theirs):
        their_pairs = [pair for pair in theirs if pair[0] == dimension]
        my_pairs = [pair for pair in mine if pair[0] == dimension]
        if my_pairs:
            shared = [pair for pair in my_pairs if pair in their_pairs]
            if not shared:
                return None
            joined = [pair for pair in joined if pair[0] != dimension or pair in shared]
        else:
            joined += their_pairs
    return tuple(joined)


# --- who says a sentence ---

MIN_NAME_LETTERS = 3  # letters of a first or last name that may stand for the full name

_SAYING = "|".join(sorted(SAYING, key=len, reverse=True))


def is_said_by(piece: Evidence, speaker: str, text: str, voices: Iterable[str]) -> bool:
    """Whether one of ``voices`` says ``text`` or is reported as saying it."""
    if piece.turns:
        return speaker.casefold() in {voice.casefold() for voice in voices}
    return attributes_speech_to(text, voices)


def text_of(piece: Evidence, span: Span) -> str:
    """The text of ``span``, which counts from the start of the piece's document."""
    return piece.text[span.start - piece.span.start : span.end - piece.span.start]


def sentences_of(piece: Evidence) -> Iterator[tuple[str, Span]]:
    """The sentences of the piece with their speakers, split at speaker changes."""
    first = piece.span.start
    turns = [(turn.speaker, turn.span.start - first, turn.span.end - first) for turn in piece.turns]
    for speaker, start, end in turns or [("", 0, len(piece.text))]:
        for span in sentence_spans(piece.text[start:end]):
            yield speaker, Span(start=start + span.start, end=start + span.end)


def attributes_speech_to(sentence: str, speakers: Iterable[str]) -> bool:
    """Whether ``sentence`` attributes speech to one of ``speakers`` by name."""
    forms = _name_forms(speakers)
    return any(form in sentence for form in forms) and bool(
        _attribution_pattern(forms).search(sentence)
    )


def _name_forms(names: Iterable[str]) -> set[str]:
    forms: set[str] = set()
    for name in names:
        parts = name.split()
        short_forms = parts[:1] + parts[-1:]
        forms |= {name, *(form for form in short_forms if len(form) >= MIN_NAME_LETTERS)}
    return forms


def _attribution_pattern(forms: Collection[str]) -> re.Pattern[str]:
    any_form = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))
    who = rf"(?<!\w)(?:{any_form})(?:(?:\s*,\s*|\s*,?\s+and\s+)(?:{any_form}))*(?!\w)"
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
