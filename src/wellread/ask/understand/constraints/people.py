"""Whose words a question asks for: speakers and authors.

Naming a person is no limit ("Who is Ada?"); asking for what the person said or wrote is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from wellread.ask.understand.constraints.constraint_spans import Limit, limit
from wellread.ask.understand.entity_forms import is_everyday
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.questions import ConstraintKind
from wellread.text.english import STOP_WORDS
from wellread.text.tokens import Token, key_of_words
from wellread.types import Filters, Span

LONGEST_NAME = 5  # words
_SAY = (
    r"(?:say|says|said|saying|mention|mentions|mentioned|explain|explains|explained|argue|argues"
    r"|argued|think|thinks|thought|claim|claims|claimed|describe|describes|described|talk|talks"
    r"|talked|discuss|discusses|discussed|suggest|suggests|suggested|recommend|recommends"
    r"|recommended|point|points|pointed|ask|asks|asked|apologi[sz]e|apologi[sz]es|apologi[sz]ed"
    r"|propose|proposes|proposed|tell|tells|told|answer|answers|answered|comment|comments|commented"
    r"|object|objects|objected|respond|responds|responded|reply|replies|replied|believe|believes"
    r"|believed|disagree|disagrees|disagreed|agree|agrees|agreed|speak|speaks|spoke|admit|admits"
    r"|admitted|warn|warns|warned|stress|stressed|note|notes|noted|remark|remarks|remarked|predict"
    r"|predicts|predicted|criticise|criticised|criticize|criticized|raise|raised|complain|complained)"
)
_WRITE = (
    r"(?:write|writes|wrote|written|report|reports|reported|publish|publishes|published|author"
    r"|authored|find|finds|found|conclude|concludes|concluded|state|states|stated|measure|measured"
    r"|show|shows|showed)"
)
_WORK = (
    r"(?:articles?|papers?|stud(?:y|ies)|notices?|posts?|reports?|pieces?|columns?|items?|works?"
    r"|texts?|publications?|newsletters?|documents?|books?|essays?)"
)
_OPINION = (
    r"(?:views?|opinions?|position|stance|takes?|arguments?|explanations?|comments?|words|remarks?"
    r"|statements?|answers?|reply|objections?|concerns?|criticism|advice|thoughts)"
)
_ASKED = re.compile(r"\b(?:do|does|did|has|have|had)\s+(?:the\s+)?$", re.I)
_ACCORDING = re.compile(r"\b(?:according\s+to|as\s+told\s+by|in\s+the\s+words\s+of|per)\s+$", re.I)
_HEARD = re.compile(
    r"\b(?:episodes?|recaps?|interviews?|transcripts?|podcasts?|talks?|recordings?|conversations?)"
    r"\s+(?:with|by|of|featuring)\s+$",
    re.I,
)
_BY = re.compile(
    rf"\b(?:{_WORK}|written|published|authored|reported)\s+(?:[\w-]+\s+){{0,3}}?(?:by|from)\s+(?:the\s+)?$",
    re.I,
)
_BY_NAME = re.compile(r"\b(?:by|from)\s+(?:the\s+)?$", re.I)
_SAYING = re.compile(rf"^\s+(?:\w+ly\s+|also\s+|ever\s+)?{_SAY}\b", re.I)
_WRITING = re.compile(rf"^\s+(?:\w+ly\s+|also\s+|ever\s+)?{_WRITE}\b", re.I)
_THEIR_WORK = re.compile(rf"^['’]s?\s+(?:\w+\s+)?{_WORK}\b|^\s+et\s+al\b", re.I)
_THEIR_OPINION = re.compile(rf"^['’]s?\s+(?:\w+\s+)?{_OPINION}\b", re.I)
_IN_PAPER = re.compile(rf"\bin\s+(?:his|her|their)\s+(?:\w+\s+)?{_WORK}\b", re.I)
_BETWEEN = re.compile(r"\s*(?:,|,?\s*\band\b|&|\bor\b)\s*", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """One or several people named side by side."""

    span: Span
    speakers: tuple[str, ...]
    authors: tuple[str, ...]


def people_in(text: str, tokens: Sequence[Token], vocabulary: Vocabulary) -> list[Mention]:
    """The speakers and authors that ``text`` names, those side by side together."""
    sloppy = not any(char.isupper() for char in text[1:])
    found: list[Mention] = []
    place = 0
    while place < len(tokens):
        end, mention = _person(tokens, place, vocabulary, sloppy=sloppy)
        if mention is None:
            place += 1
            continue
        place = end
        if found and _BETWEEN.fullmatch(text[found[-1].span.end : mention.span.start]):
            found[-1] = _together(found[-1], mention)
        else:
            found.append(mention)
    return found


def people_of(text: str, mentions: Sequence[Mention]) -> Iterator[Limit]:
    """The limits on speaker and author that the question sets."""
    for mention in mentions:
        before, after = text[: mention.span.start], text[mention.span.end :]
        kind, cut = _meant(text, mention, before, after)
        names = {"speaker": mention.speakers, "author": mention.authors}.get(kind, ())
        if kind == "speaker" and names:
            filters = Filters(speakers=names)
            yield limit("speaker", mention.span, ", ".join(names), filters, cut)
        elif kind == "author" and names:
            yield limit("author", mention.span, ", ".join(names), Filters(authors=names), cut)


def _meant(
    text: str, mention: Mention, before: str, after: str
) -> tuple[ConstraintKind | Literal[""], Span]:
    """Whether the people's speech or writing is asked for, and which words say so."""
    lead = _ASKED.search(before) or _ACCORDING.search(before) or _BY_NAME.search(before)
    said, wrote = _SAYING.search(after), _WRITING.search(after)
    start, end = lead.start() if lead else mention.span.start, mention.span.end
    kind: ConstraintKind | Literal[""] = ""
    if said:
        kind, end = "speaker", end + said.end()
    elif wrote and mention.authors:
        kind, end = "author", end + wrote.end()
    elif mention.authors and (
        _BY.search(before) or _THEIR_WORK.search(after) or _IN_PAPER.search(text)
    ):
        kind = "author"
    elif _ACCORDING.search(before) or _THEIR_OPINION.search(after) or _HEARD.search(before):
        kind = "speaker"
    if kind == "speaker" and not mention.speakers:
        kind = "author"  # who is only known to write says it in writing
    return kind, Span(start=start, end=end) if kind else mention.span


def _person(
    tokens: Sequence[Token], start: int, vocabulary: Vocabulary, *, sloppy: bool
) -> tuple[int, Mention | None]:
    """The longest name that begins at ``start``, and the token after it."""
    for end in range(min(len(tokens), start + LONGEST_NAME), start, -1):
        if any(not token.joined for token in tokens[start + 1 : end]):
            continue
        key = key_of_words([token.plain for token in tokens[start:end]])
        speakers, authors = vocabulary.speakers.get(key, ()), vocabulary.authors.get(key, ())
        if not speakers and not authors:
            continue
        if end - start == 1 and not _stands_alone(tokens, start, sloppy=sloppy):
            continue
        last = tokens[end - 1]
        span = Span(start=tokens[start].start, end=last.start + len(last.written))
        return end, Mention(span=span, speakers=speakers, authors=authors)
    return start, None


def _stands_alone(tokens: Sequence[Token], place: int, *, sloppy: bool) -> bool:
    """Whether one word is meant as a whole name: not part of a longer one, no ordinary word."""
    token = tokens[place]
    if token.plain in STOP_WORDS or is_everyday(token.plain) or len(token.plain) < 3:
        return False
    if sloppy:
        return True
    if not token.written[:1].isupper() or token.written.isupper():  # MATT is not Matt
        return False
    before = tokens[place - 1] if place > 1 and token.joined else None
    after = tokens[place + 1] if place + 1 < len(tokens) and tokens[place + 1].joined else None
    return not any(
        other is not None and other.written[:1].isupper() and other.plain not in STOP_WORDS
        for other in (before, after)
    )


def _together(one: Mention, other: Mention) -> Mention:
    return Mention(
        span=Span(start=one.span.start, end=other.span.end),
        speakers=tuple(dict.fromkeys((*one.speakers, *other.speakers))),
        authors=tuple(dict.fromkeys((*one.authors, *other.authors))),
    )
