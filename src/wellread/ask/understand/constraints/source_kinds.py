"""Which sources a question wants to hear: kinds, source types, languages, collections.

A noun for sources limits the question when it stands for sources at large ("in the papers",
"which newsletters mention", "a podcast about"); "the paper" is one of them, and "paper wallets"
are none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from wellread.ask.understand.constraints.constraint_spans import Limit, limit
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.text.names import plural, singular
from wellread.types import Filters, Kind, Span

_NOUNS: dict[str, Kind] = {
    "article": "article",
    "news article": "article",
    "news item": "article",
    "news story": "article",
    "news report": "article",
    "news": "article",
    "blog post": "article",
    "paper": "paper",
    "research paper": "paper",
    "study": "paper",
    "preprint": "paper",
    "transcript": "transcript",
    "recording": "transcript",
    "podcast": "transcript",
    "episode": "transcript",
    "podcast episode": "transcript",
    "recap": "transcript",
    "recap podcast": "transcript",
    "web page": "page",
    "past question": "qa",
    "earlier question": "qa",
    "previous question": "qa",
    "commons entry": "entity",
}
# Names of file formats are no words for what people read, unless "files" stands behind them.
_FORMATS = frozenset(
    """
    html markdown md text txt pdf vtt srt sbv json jsonl csv docx pptx xlsx rst rss atom qa entries
    yaml xml
    """.split()
)
_ABOUT = r"(?:about|on|that|which|where|with|mention\w*|discuss\w*|cover\w*|from)"
_LANGUAGES = {
    "english": "en",
    "german": "de",
    "french": "fr",
    "spanish": "es",
    "italian": "it",
    "portuguese": "pt",
    "dutch": "nl",
    "danish": "da",
    "swedish": "sv",
    "norwegian": "no",
    "finnish": "fi",
    "polish": "pl",
    "czech": "cs",
    "russian": "ru",
    "ukrainian": "uk",
    "turkish": "tr",
    "arabic": "ar",
    "hebrew": "he",
    "hindi": "hi",
    "chinese": "zh",
    "japanese": "ja",
    "korean": "ko",
    "greek": "el",
    "hungarian": "hu",
    "romanian": "ro",
}
_TONGUE = "|".join(_LANGUAGES)
GENERAL = (
    "documents?|sources?|entries|items|materials?|texts?|posts?|publications?|reports?|notices?|"
    "records?|issues|editions"
)
_LANGUAGE = re.compile(
    rf"\b(?P<tongue>{_TONGUE})(?P<marked>[-\s]language)?\s+(?P<noun>\w+)"
    rf"|\b(?P<before>\w+)\s+(?:(?:written|published|asked|recorded)\s+)?in\s+(?P<said>{_TONGUE})\b",
    re.IGNORECASE,
)
_LED = re.compile(r"(?:in|on|from|across|within|according\s+to)\b", re.IGNORECASE)
_KIND_OF = re.compile(r"\b(?:kinds?|types?|sorts?|forms?|formats?)\s+of\s+$", re.IGNORECASE)
# What may stand before a noun for sources that means sources at large.
_LEADING = frozenset(
    f"""
    a about all among an and any are by can could did do does each every few find from give had has
    have how i in is latest list many me more most new newer newest no of older oldest on or other
    our published read recent recently see several should show some than that the their there these
    this those through was we were what where which with would your count council
    {" ".join(_LANGUAGES)}
    language two three four five six seven eight nine ten twelve last next first
    january february march april may june july august september october november december
    """.split()
)
_COLLECTION = re.compile(
    r"\b(?:in|from|within)\s+(?:the\s+)?(?:(?P<before>[\w-]+)\s+(?:collection|library|archive)"
    r"|(?:collection|library|archive)\s+(?P<after>[\w-]+))\b",
    re.IGNORECASE,
)


def sources_of(text: str, vocabulary: Vocabulary) -> Iterator[Limit]:
    """The limits on kind, source type, language and collection that the question sets."""
    yield from _kinds(text, vocabulary)
    yield from _languages(text, vocabulary)
    for match in _COLLECTION.finditer(text):
        asked = (match["after"] or match["before"]).casefold()
        for name in vocabulary.collections:
            if name.casefold() == asked and len(vocabulary.collections) > 1:
                yield limit("collection", _span(match), name, Filters(collections=(name,)))


def source_noun(vocabulary: Vocabulary) -> re.Pattern[str]:
    """Words for sources that the material has, in the singular or plural."""
    return _nouns(vocabulary.kinds, vocabulary.source_types)


def source_plurals(vocabulary: Vocabulary) -> list[str]:
    """Words for sources that the material has, in the plural."""
    return [_plural(noun) for noun in _known(vocabulary.kinds, vocabulary.source_types)]


def _kinds(text: str, vocabulary: Vocabulary) -> Iterator[Limit]:
    types = _types(vocabulary.source_types)
    found = [
        match
        for pattern in _patterns(vocabulary.kinds, vocabulary.source_types)
        for match in pattern.finditer(text)
    ]
    seen = set()
    for match in sorted(found, key=lambda match: match.start("noun")):
        noun = match["noun"].lower()
        name = noun if noun == "news" else singular(noun) or noun
        span = _span(match, "noun")
        if not match["before"] and not _begins_phrase(text[: span.start]):
            continue
        # As the head of the question ("which papers say") the noun is needed to read it.
        led = _LED.match(match["before"] or "")
        cut = Span(start=match.start("before") if led else span.end, end=span.end)
        value = types.get(name) or _NOUNS[name]
        if value in seen:
            continue
        seen.add(value)
        if name in types:
            yield limit("source_type", span, value, Filters(source_types=(value,)), cut)
        else:
            yield limit("kind", span, value, Filters(kinds=(_NOUNS[name],)), cut)


def _begins_phrase(before: str) -> bool:
    """Whether a noun after ``before`` stands by itself: not "viral studies" or "Science News"."""
    last = before.split()[-1].lower() if before.strip() else ""
    if _KIND_OF.search(before):
        return False
    return (
        not last
        or last[-1] in ',;:.-–("“'
        or last in _LEADING
        or last.endswith("-language")
        or last[-4:].isdigit()
    )


def _languages(text: str, vocabulary: Vocabulary) -> Iterator[Limit]:
    noun = source_noun(vocabulary)
    for match in _LANGUAGE.finditer(text):
        about = match["noun"] or match["before"]
        code = _LANGUAGES[(match["tongue"] or match["said"]).lower()]
        if not noun.fullmatch(about) and about.lower() not in ("questions", "question"):
            continue
        # "Danish studies" are from Denmark; "in Danish" and "Danish-language" leave no doubt.
        if match["tongue"] and not match["marked"] and code not in vocabulary.languages:
            continue
        start = match.start("tongue") if match["tongue"] else match.end("before")
        end = match.start("noun") if match["tongue"] else match.end()
        span = Span(start=start, end=end)
        stripped = span.of(text)
        place = start + len(stripped) - len(stripped.lstrip())
        span = Span(start=place, end=place + len(stripped.strip()))
        yield limit("language", span, code, Filters(languages=(code,)))


@lru_cache(maxsize=64)
def _patterns(kinds: frozenset[str], source_types: frozenset[str]) -> tuple[re.Pattern[str], ...]:
    """Where a noun stands for many sources; or for any one of them."""
    known = _known(kinds, source_types)
    if not known:
        return ()
    # A source may call its type anything.
    many = "|".join(re.escape(_plural(noun)) for noun in known)
    one = "|".join(re.escape(noun) for noun in known if noun != "news")
    return tuple(
        re.compile(pattern, re.IGNORECASE)
        for pattern in (
            rf"(?P<before>\b(?:in|from|across|within|according\s+to)\s+"
            rf"(?:all\s+)?(?:(?:the|our|these)\s+)?)?(?<![\w-])(?P<noun>{many})\b(?![-'’])",
            rf"(?P<before>\b(?:an?|any|every|each)\s+)(?P<noun>{one})(?=\s+{_ABOUT}\b)",
            rf"(?P<before>\bthe\s+)(?P<noun>{one})(?=\s+by\b)",
            rf"(?P<before>\bon\s+the\s+)(?P<noun>{one})(?=\s*(?:$|[?.,;]))",
        )
    )


@lru_cache(maxsize=64)
def _nouns(kinds: frozenset[str], source_types: frozenset[str]) -> re.Pattern[str]:
    known = _known(kinds, source_types)
    named = [*(_plural(noun) for noun in known), *known]
    words = "|".join([*map(re.escape, named), GENERAL])
    return re.compile(rf"\b(?:{words})\b", re.IGNORECASE)


@lru_cache(maxsize=64)
def _known(kinds: frozenset[str], source_types: frozenset[str]) -> list[str]:
    """The nouns for what the material has, the longest first."""
    nouns = {noun for noun, kind in _NOUNS.items() if kind in kinds} | set(_types(source_types))
    return sorted(nouns, key=lambda noun: (-len(noun), noun))


@lru_cache(maxsize=64)
def _types(source_types: frozenset[str]) -> dict[str, str]:
    """Source types in words, to source types as the documents have them."""
    names = {name.replace("_", " ").replace("-", " ").lower(): name for name in source_types}
    return {words: name for words, name in names.items() if words.strip() and words not in _FORMATS}


def _plural(noun: str) -> str:
    return "news" if noun == "news" else plural(noun)


def _span(match: re.Match[str], group: str | int = 0) -> Span:
    return Span(start=match.start(group), end=match.end(group))
