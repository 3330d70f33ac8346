"""Finds a question's limits on sources: kinds, types, languages, taxonomy values and dates.

A noun for sources is a limit when it means sources in general ("in the papers", "which newsletters
mention", "a podcast about"), unlike "the paper" or "paper wallets". A taxonomy value alone is a
topic like any other ("energy"); it is a limit next to its dimension's name ("at municipal scale")
or before a word for entries ("municipal projects").

A date often says when something happened, not when the sources were published, and a wrong window
hides the answer. So a window needs explicit words: a period after "in", "since" or "before"; a day
on which something was published, or next to a verb of publishing. In questions about an amount only
an exact day or month counts, unless sources are counted; dates inside names do not count.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache

from wellread.ask.understand.question_parts import Limit, asking_sentences, limit
from wellread.ask.understand.vocabulary import Vocabulary, is_everyday
from wellread.text.english import (
    ABOUT,
    AFTER_TIME,
    AMOUNT,
    ANY_SOURCE,
    BEFORE_SOURCES,
    BEFORE_TIME,
    BEFORE_VALUE,
    ENTRIES,
    FILED,
    IN_LANGUAGE,
    LABELLED,
    LANGUAGES,
    LISTING,
    LISTING_ASKED,
    MASSES,
    NAMED,
    PUBLISHED,
    SOURCE_NOUNS,
    TOLD,
)
from wellread.text.parsed import parse
from wellread.text.periods import RELATIVE, Expression, Period, expressions_of, lacks_year, month_of
from wellread.text.tokens import Token, key_of, key_of_words, normalise, plain_at, plural, singular
from wellread.types import Filters, Kind, Span
from wellread.values.question import ConstraintKind, NamedEntity

_KINDS: dict[str, Kind] = {noun: kind for kind, nouns in SOURCE_NOUNS.items() for noun in nouns}
# Names of file formats, which do not count as source nouns.
_FORMATS = frozenset(
    """
    html markdown md text txt pdf vtt srt sbv json jsonl csv docx pptx xlsx rst rss atom qa entries
    yaml xml
    """.split()
)
_PREPOSITION = re.compile(r"(?:in|on|from|across|within|according\s+to)\b", re.IGNORECASE)
_KIND_OF = re.compile(r"\b(?:kinds?|types?|sorts?|forms?|formats?)\s+of\s+$", re.IGNORECASE)


def sources_of(text: str, vocabulary: Vocabulary) -> Iterator[Limit]:
    """The limits on kind, source type and language in the question."""
    yield from _kind_limits(text, vocabulary)
    yield from _language_limits(text, vocabulary)


def source_noun(vocabulary: Vocabulary) -> re.Pattern[str]:
    """The pattern of nouns for the sources in the material, singular or plural."""
    return _noun_pattern(vocabulary.kinds, vocabulary.source_types)


def _kind_limits(text: str, vocabulary: Vocabulary) -> Iterator[Limit]:
    """The limits on kinds; adjacent nouns ("papers and transcripts") are alternatives."""
    kind_limits = list(_named_kinds(text, vocabulary))
    while kind_limits:
        first, *kind_limits = kind_limits
        limits, end = [first], first.constraint.span.end
        while kind_limits and _AND_OR.fullmatch(text[end : kind_limits[0].constraint.span.start]):
            limits.append(kind_limits.pop(0))
            end = limits[-1].constraint.span.end
        yield first if len(limits) == 1 else _combine(limits, vocabulary)


_AND_OR = re.compile(r"\s*(?:,|/|,?\s*\b(?:and|or|and/or)\b)\s*(?:(?:all|the)\s+)*", re.IGNORECASE)


def _combine(limits: Sequence[Limit], vocabulary: Vocabulary) -> Limit:
    """Combine ``limits`` as alternatives.

    A mix of kinds and source types becomes all pairs that match either of them.
    """
    all_filters = [limit.constraint.filters for limit in limits]
    kinds = {kind for filters_of_noun in all_filters for kind in filters_of_noun.kinds}
    types = {name for filters_of_noun in all_filters for name in filters_of_noun.source_types}
    mixed = bool(kinds and types)
    if mixed:
        pairs = [pair for pair in vocabulary.kind_pairs if pair[0] in kinds or pair[1] in types]
        kinds, types = {kind for kind, _ in pairs}, {name for _, name in pairs}
    first = limits[0]
    span = Span(start=first.constraint.span.start, end=limits[-1].constraint.span.end)
    filters = Filters(kinds=tuple(sorted(kinds)), source_types=tuple(sorted(types)))
    value = " or ".join(dict.fromkeys(limit.constraint.value for limit in limits))
    first_cut = first.cut if first.cut and len(first.cut) else None
    cut = Span(start=first_cut.start if first_cut else span.end, end=span.end)
    return limit("source_type" if types and not mixed else "kind", span, value, filters, cut)


def _named_kinds(text: str, vocabulary: Vocabulary) -> Iterator[Limit]:
    """A limit for each noun that names a kind or source type, in the order of the text."""
    types = _types(vocabulary.source_types)
    patterns = _patterns(vocabulary.kinds, vocabulary.source_types)
    matches = [match for pattern in patterns for match in pattern.finditer(text)]
    seen = set()
    for match in sorted(matches, key=lambda match: match.start("noun")):
        noun = match["noun"].lower()
        name = noun if noun in MASSES else singular(noun) or noun
        value = types.get(name) or _KINDS[name]
        start, end = match.span("noun")
        before = text[:start]
        is_site = key_of(before.split()[-1]) in vocabulary.publishers if before.strip() else False
        if value in seen or not (match["before"] or is_site or _begins_phrase(before)):
            continue
        seen.add(value)
        # As the head of the question ("which papers say") the noun stays in the search text.
        preposition = _PREPOSITION.match(match["before"] or "")
        cut = Span(start=match.start("before") if preposition else end, end=end)
        filters = (
            Filters(source_types=(value,)) if name in types else Filters(kinds=(_KINDS[name],))
        )
        limit_kind: ConstraintKind = "source_type" if name in types else "kind"
        yield limit(limit_kind, Span(start=start, end=end), value, filters, cut)


def _begins_phrase(before: str) -> bool:
    """Whether a noun after ``before`` begins a phrase, unlike in "viral studies"."""
    last = before.split()[-1].lower() if before.strip() else ""
    if _KIND_OF.search(before):
        return False
    return (
        not last
        or last[-1] in ',;:.-–("“'
        or last in BEFORE_SOURCES
        or last.endswith(("'s", "’s"))  # "Ada Moor's articles"
        or last.endswith("-language")
        or last[-4:].isdigit()
    )


def _language_limits(text: str, vocabulary: Vocabulary) -> Iterator[Limit]:
    noun = source_noun(vocabulary)
    for match in IN_LANGUAGE.finditer(text):
        word = match["noun"] or match["before"]
        code = LANGUAGES[(match["tongue"] or match["said"]).lower()]
        if not noun.fullmatch(word) and word.lower() not in ("questions", "question"):
            continue
        # "Danish studies" may be from Denmark; "in Danish" and "Danish-language" are clear.
        if match["tongue"] and not match["marked"] and code not in vocabulary.languages:
            continue
        start, end = match.span("of" if match["tongue"] else "in")
        yield limit("language", Span(start=start, end=end), code, Filters(languages=(code,)))


@lru_cache(maxsize=64)
def _patterns(kinds: frozenset[str], source_types: frozenset[str]) -> tuple[re.Pattern[str], ...]:
    """Patterns in which a noun means many sources, or any one of them."""
    nouns = _source_words(kinds, source_types)
    if not nouns:
        return ()
    # Source types are free text, so they are escaped.
    plurals = "|".join(re.escape(_plural(noun)) for noun in nouns)
    singulars = "|".join(re.escape(noun) for noun in nouns if noun not in MASSES)
    talks = [noun for noun in nouns if _KINDS.get(noun) == "transcript"]
    spoken = "|".join(map(re.escape, talks)) or "(?!)"  # "in the podcast": in any recording of it
    return tuple(
        re.compile(pattern, re.IGNORECASE)
        for pattern in (
            rf"(?P<before>\b(?:in|from|across|within|according\s+to)\s+"
            rf"(?:all\s+)?(?:(?:the|our|these)\s+)?)?(?<![\w-])(?P<noun>{plurals})\b(?![-'’])",
            rf"(?P<before>\b(?:an?|any|every|each)\s+)(?P<noun>{singulars})(?=\s+{ABOUT}\b)",
            rf"(?P<before>\bthe\s+)(?P<noun>{singulars})(?=\s+by\b)",
            rf"(?P<before>\bon\s+the\s+)(?P<noun>{singulars})(?=\s*(?:$|[?.,;]))",
            rf"(?P<before>\bin\s+an?\s+)(?P<noun>{singulars})(?=\s*(?:$|[?.,;]|at\s+all\b))",
            rf"(?P<before>\b(?:in|on)\s+the\s+)(?P<noun>{spoken})\b(?![-'’]|\s+{NAMED}\b)",
        )
    )


@lru_cache(maxsize=64)
def _noun_pattern(kinds: frozenset[str], source_types: frozenset[str]) -> re.Pattern[str]:
    nouns = _source_words(kinds, source_types)
    forms = [*(_plural(noun) for noun in nouns), *nouns]
    words = "|".join([*map(re.escape, forms), ANY_SOURCE])
    return re.compile(rf"\b(?:{words})\b", re.IGNORECASE)


@lru_cache(maxsize=64)
def _source_words(kinds: frozenset[str], source_types: frozenset[str]) -> list[str]:
    """The nouns for kinds and types in the material, longest first."""
    nouns = {noun for noun, kind in _KINDS.items() if kind in kinds} | set(_types(source_types))
    return sorted(nouns, key=lambda noun: (-len(noun), noun))


@lru_cache(maxsize=64)
def _types(source_types: frozenset[str]) -> dict[str, str]:
    """Map the wording of source types to the types in the documents.

    The last word of a longer type counts too ("notices" for public notices), if it is unique and
    not an everyday word.
    """
    names = {name.replace("_", " ").replace("-", " ").lower(): name for name in source_types}
    names = {words: name for words, name in names.items() if words.strip()}
    heads = Counter(words.split()[-1] for words in names)
    by_last_word = {
        words.split()[-1]: name
        for words, name in names.items()
        if heads[words.split()[-1]] == 1 and not is_everyday(words.split()[-1])
    }
    type_names = {head: name for head, name in by_last_word.items() if head not in _KINDS} | names
    return {words: name for words, name in type_names.items() if words not in _FORMATS}


def _plural(noun: str) -> str:
    return noun if noun in MASSES else plural(noun)


MAX_VALUE_WORDS = 8
# Synonyms of common taxonomy dimensions.
_DIMENSION_SYNONYMS = {
    "scale": ("level",),
    "sector": ("field", "area"),
    "category": ("section",),
    "topic": ("subject", "theme"),
    "region": ("area",),
}
_IN = re.compile(r"\W*(?:in|among|of|from)\s+(?:the\s+)?|\W*", re.IGNORECASE)


def taxonomy_of(text: str, vocabulary: Vocabulary) -> Iterator[Limit]:
    """The limits on taxonomy values in the question."""
    tokens = parse(text).tokens
    names = dimension_words(vocabulary.dimensions)
    entries = ENTRIES | {normalise(singular(name) or name) for name in vocabulary.entity_types}
    index = 0
    while index < len(tokens):
        first = start = index
        index, pairs = _value_at(tokens, start, vocabulary)
        if not pairs:
            continue
        end = last = index
        before, second = plain_at(tokens, start - 1), plain_at(tokens, start - 2)
        after = plain_at(tokens, end) if end < len(tokens) and tokens[end].joined else ""
        back = 2 if before in ("the", "a", "of") else 1
        dimensions = names.get(second if back == 2 else before, ())
        if any(pair[0] in names.get(after, ()) for pair in pairs):
            fitting, last = [pair for pair in pairs if pair[0] in names[after]], end + 1
        elif any(pair[0] in dimensions for pair in pairs):
            fitting, first = [pair for pair in pairs if pair[0] in dimensions], start - back
        elif before in LABELLED or (before == "under" and second in FILED):
            fitting, first = list(pairs), start - (1 if before in LABELLED else 2)
        else:
            fitting = list(pairs) if _limits_list(text, (start, end), entries, after) else []
        if len({dimension for dimension, _ in fitting}) != 1:
            continue
        span = Span(start=tokens[start].start, end=tokens[end - 1].end)
        while first and tokens[first - 1].plain in BEFORE_VALUE | {"the"}:
            first -= 1
        description = f"{fitting[0][0]}: {', '.join(value for _, value in fitting)}"
        cut = Span(start=tokens[first].start, end=tokens[last - 1].end)
        yield limit("taxonomy", span, description, Filters(taxonomy=tuple(fitting)), cut)


def _limits_list(text: str, value: tuple[int, int], entries: frozenset[str], after: str) -> bool:
    """Whether the value limits a list: "municipal projects", "patterns in Meeting Practices"."""
    tokens, (start, end) = parse(text).tokens, value
    if not LISTING.search(text):
        return False
    before = text[: tokens[start].start]
    if (singular(after) or "") in entries and (
        LISTING_ASKED.search(before) or _IN.fullmatch(before)
    ):
        return True
    if end - start < 2 or plain_at(tokens, start - 1) not in ("in", "under", "to", "from"):
        return False
    return any((singular(token.plain) or "") in entries for token in tokens[:start])


def _value_at(
    tokens: Sequence[Token], start: int, vocabulary: Vocabulary
) -> tuple[int, tuple[tuple[str, str], ...]]:
    """The next token to look at, and the longest taxonomy value that begins at ``start``."""
    for end in range(min(len(tokens), start + MAX_VALUE_WORDS), start, -1):
        key = key_of_words([token.plain for token in tokens[start:end]])
        pairs = vocabulary.taxonomy.get(key, ())
        if pairs and all(token.joined for token in tokens[start + 1 : end]):
            return end, pairs
    return start + 1, ()


def dimension_words(dimensions: frozenset[str]) -> dict[str, frozenset[str]]:
    """Map words for dimensions, singular and plural, to the dimensions that they may mean."""
    dimensions_by_word: dict[str, set[str]] = {}
    for dimension in dimensions:
        name = normalise(dimension.replace("_", " ").split()[-1]) if dimension.strip() else ""
        singular_name = singular(name) or name
        for word in (singular_name, *_DIMENSION_SYNONYMS.get(singular_name, ())):
            for form in (word, plural(word)):
                dimensions_by_word.setdefault(form, set()).add(dimension)
    return {word: frozenset(meanings) for word, meanings in dimensions_by_word.items()}


LOOK_BACK_CHARS = 80  # characters before a date that are searched for words such as "since"
_RANGE = re.compile(r"\b(?P<word>between|from|in|during)\s+(?:the\s+)?$", re.IGNORECASE)
_JOINT = re.compile(
    r"\s*(?P<word>\b(?:and|to|until|till|through)\b|-|–|—)\s*(?:the\s+)?", re.IGNORECASE
)
_ONWARDS = re.compile(r"^\s+on(?:wards?\b|\s*(?:$|[?.,;:]))", re.IGNORECASE)
_MANY_OF = re.compile(
    r"\b(?:\w{2,}s|best|rest|most)\s+of\s+(?:the\s+)?(?:year\s+)?$", re.IGNORECASE
)
_EXACT = frozenset({"iso_day", "dotted_day", "day_month", "month_day", "month_year", "iso_month"})
_OPEN = frozenset({"since", "after", "before", "prior to", "ahead of", "until", "till", "up to"})
_WITHIN = frozenset({"in", "during", "throughout", "within", "over", "across", "at"})
_UNMISTAKABLE = frozenset({"quarter_late", "half_late", "years", "iso_month"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Window:
    """A time window in the text: its span, the span with its lead-in, its first and last day."""

    span: Span
    cut: Span
    first: date | None
    last: date | None
    certain: bool = False
    exact: bool = False  # a day or month with its year


def windows_of(
    text: str,
    entities: Sequence[NamedEntity],
    vocabulary: Vocabulary,
    today: date,
    days: Collection[date],
    *,
    of_sources: bool,
) -> Iterator[Limit]:
    """Yield the time window of the question; nothing if there are two, which are compared."""
    noun = source_noun(vocabulary)
    amount = AMOUNT.search(text) and not (noun.search(text) or TOLD.search(text))
    asking, times = asking_sentences(text), _times(text, vocabulary, today)
    windows = [
        window
        for window in _windows(text, noun, times, days, of_sources=of_sources)
        if (window.exact or not amount)
        and not any(window.span.overlaps(entity.span) for entity in entities)
        and any(window.span.overlaps(sentence) for sentence in asking)
    ]
    if len(windows) != 1:
        return
    (window,) = windows
    if not (window.certain or of_sources or _overlaps_publication(window, vocabulary.published)):
        return
    ends = [day.isoformat() for day in (window.first, window.last) if day]
    description = " to ".join(dict.fromkeys(ends))
    if len(ends) == 1:
        description = f"{'from' if window.first else 'until'} {ends[0]}"
    filters = date_filters(window.first, window.last)
    yield limit("time", window.span, description, filters, window.cut)


def date_filters(first: date | None, last: date | None) -> Filters:
    """The filters for material published from ``first`` to ``last``."""
    return Filters(
        published_from=datetime.combine(first, time.min, UTC) if first else None,
        published_to=datetime.combine(last, time.max, UTC) if last else None,
    )


def days_in(text: str, vocabulary: Vocabulary, today: date) -> list[date]:
    """The single days named in ``text``."""
    times = _times(text, vocabulary, today)
    return [expression.period.first for expression in times if expression.period.grain == "day"]


def _times(text: str, vocabulary: Vocabulary, today: date) -> list[Expression]:
    """The times in ``text``; without a year, the latest such time within the publications."""
    times = expressions_of(text, today)
    if vocabulary.published is None:
        return times
    last = min(today, vocabulary.published[1])
    by_start = {expression.start: expression for expression in expressions_of(text, last)}
    return [
        by_start.get(expression.start, expression) if lacks_year(text, expression) else expression
        for expression in times
    ]


def _windows(
    text: str,
    noun: re.Pattern[str],
    expressions: list[Expression],
    days: Collection[date],
    *,
    of_sources: bool,
) -> Iterator[_Window]:
    while expressions:
        expression, *expressions = expressions
        window = _range_window(text, expression, expressions[0]) if expressions else None
        expressions = expressions[1:] if window else expressions
        window = window or _single_window(text, expression, noun, days, of_sources=of_sources)
        if window is not None:
            yield window


def _range_window(text: str, first_time: Expression, last_time: Expression) -> _Window | None:
    joint = _JOINT.fullmatch(text[first_time.end : last_time.start])
    lead = _RANGE.search(text, max(0, first_time.start - LOOK_BACK_CHARS), first_time.start)
    if joint is None or lead is None or not AFTER_TIME.search(text[last_time.end :]):
        return None
    between = lead["word"].lower() == "between"
    first = _with_year(first_time.period, last_time.period)
    if between != (joint["word"].lower() == "and") or first.first > last_time.period.last:
        return None
    return _Window(
        span=Span(start=first_time.start, end=last_time.end),
        cut=Span(start=lead.start("word"), end=last_time.end),
        first=first.first,
        last=last_time.period.last,
    )


def _with_year(first: Period, last: Period) -> Period:
    """Give a month without a year the year of ``last``, or the year before."""
    if first.month is None:
        return first
    same_year = month_of(last.last.year, first.month)
    return same_year if same_year.first <= last.last else month_of(last.last.year - 1, first.month)


def _single_window(
    text: str,
    expression: Expression,
    noun: re.Pattern[str],
    days: Collection[date],
    *,
    of_sources: bool,
) -> _Window | None:
    lead = BEFORE_TIME.search(text, max(0, expression.start - LOOK_BACK_CHARS), expression.start)
    word = " ".join((lead["word"] or "").lower().split()) if lead else ""
    after = text[expression.end :]
    noun_after = re.match(rf"(?:['’]s)?\s+(?P<noun>{noun.pattern})", after, re.IGNORECASE)
    sourced = noun_after is not None and noun_after["noun"].lower().endswith("s")
    if not (sourced or AFTER_TIME.search(after)) or not _is_month(text, expression, word):
        return None
    start = lead.start() if lead else expression.start
    if word in _OPEN:
        return _open_window(text, expression, word, start)
    if word == "from" and _ONWARDS.match(after):
        return _open_window(text, expression, "since", start)
    is_dated = sourced or (of_sources and word == "from")  # "any news on ... from May 2023"
    if not (is_dated or _is_publication_time(text, expression, word, noun, days)):
        return None
    return _Window(
        span=Span(start=expression.start, end=expression.end),
        cut=Span(start=start, end=expression.end),
        first=expression.period.first,
        last=expression.period.last,
        certain=sourced or expression.form in RELATIVE or word == "from",
        exact=expression.form in _EXACT and not lacks_year(text, expression),
    )


def _is_publication_time(
    text: str, expression: Expression, word: str, noun: re.Pattern[str], days: Collection[date]
) -> bool:
    before = text[max(0, expression.start - LOOK_BACK_CHARS) : expression.start]
    is_day = expression.period.grain == "day"
    if is_day and word in ("on", "of", "from") and expression.period.first in days:
        return True
    if expression.form in RELATIVE or expression.form == "days":
        more_words = {"of", "for"} if expression.form in RELATIVE else set()
        return word in _WITHIN | {"", "from"} | more_words
    if word in ("from", "of"):
        lead = rf"(?:{noun.pattern})\s+(?:\w+\s+|are\s+there\s+)?{word}\s+(?:the\s+)?(?:year\s+)?$"
        is_many_of = word == "of" and not is_day and _MANY_OF.search(before)
        return bool(re.search(lead, before, re.IGNORECASE) or is_many_of)
    if is_day:
        return word == "on" and PUBLISHED.search(text) is not None
    return word in _WITHIN or (word == "" and expression.form in _UNMISTAKABLE)


def _is_month(text: str, month: Expression, word: str) -> bool:
    """Whether an apparent month is one, as "may" and "march" are also other words."""
    if month.form != "month":
        return True
    written = text[month.start : month.end]
    return written[:1].isupper() and word in (_OPEN | _WITHIN | {"from", "of"}) and month.start > 0


def _open_window(text: str, expression: Expression, word: str, start: int) -> _Window:
    """A window open on one side; "the end of 2019" means its last day."""
    begin, finish = expression.period.first, expression.period.last
    if expression.form == "edge_year":
        is_start = text[expression.start].lower() in "sb"
        begin, finish = (begin, begin) if is_start else (finish, finish)
    first = {"since": begin, "after": finish + timedelta(1)}.get(word)
    before = begin - timedelta(1) if word in ("before", "prior to", "ahead of") else finish
    return _Window(
        span=Span(start=expression.start, end=expression.end),
        cut=Span(start=start, end=expression.end),
        first=first,
        last=before if first is None else None,
        certain=expression.form in RELATIVE,
    )


def _overlaps_publication(window: _Window, published: tuple[date, date] | None) -> bool:
    if published is None:
        return False
    first, last = published
    if window.first is None or window.last is None:
        return first <= (window.first or window.last or first) <= last
    return window.first <= last and window.last >= first
