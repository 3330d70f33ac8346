"""Further questions that the material can answer, made from what was found beside an answer.

Each is built from a passage or a link that is there: a heading, a speaker who talks of the
subject, an entity that is linked to it, a past question. Where no form reads well, none is made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from wellread.questions import Analysis
from wellread.store.catalogue.graph.entity_nodes import EntityNode
from wellread.text.english import POINTING, SECTION_TITLES, SMALL_WORDS
from wellread.text.names import singular
from wellread.text.parsed import parse
from wellread.text.words import visible
from wellread.types import Hit

MOST = 3
LONGEST_NAME, MOST_WORDS = 60, 9
SAME = 0.75  # share of stems in common from which two questions are one

_ODD = re.compile(r"[<>\[\]{}|\\`*_#=~^“”\"]|://|www\.|\.\.\.|…")
_LEANS = re.compile(rf"\b(?:{'|'.join(POINTING)})\b", re.IGNORECASE)
_IMPERATIVE = re.compile(r"\w+\s+(?:the|an?|your|our|it|them|yourself)\b", re.IGNORECASE)
_NUMBER = re.compile(r"^(?:\d+(?:\.\d+)*|[A-Z](?:\.\d+)+)[.)]?\s+")
_NO_ARTICLE = re.compile(r"^(?:how|what|when|where|which|who|why)\b|^\w+ing\b|\b(?:and|or)\b", re.I)
_DETERMINED = r"\b(?:the|an?|this|that|each|every|one|its|our|their)\s+(?:\w+\s+)?"
_FIRST_WORDS = re.compile(r"(?:^|(?<=[.!?:]\s)|(?<=\n))[\W\d_]*[^\W\d_]+")
_PERSON = re.compile(r"[^\W\d_]+(?:[-'’.][^\W\d_]*)*(?: [^\W\d_]+(?:[-'’.][^\W\d_]*)*){1,3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """An entity that is linked to a subject.

    Attributes:
        reads: the link in words.
        alike: the relation reads the same from both sides ("see also"): two of a kind.
    """

    subject: EntityNode
    node: EntityNode
    reads: str
    alike: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What was found beside an answer.

    Attributes:
        subjects: the entities that the question names or the answer cites.
        hits: the best passage of each document that was found and is not cited.
        texts: of all passages that were found, cited or not, case-folded.
        past: of documents that are past questions, id to a question to ask again.
        described: ids of the documents that are entities themselves.
    """

    analysis: Analysis
    subjects: tuple[EntityNode, ...]
    links: tuple[Linked, ...]
    hits: tuple[Hit, ...]
    texts: tuple[str, ...]
    past: Mapping[str, str]
    described: frozenset[str]


def suggestions(around: Around) -> tuple[str, ...]:
    """Up to three questions, each of another form, none the same as the question.

    What was asked or said in these words goes first. The forms that are made up take turns, so
    that it is not always the same one that stands under an answer.
    """
    asked = around.analysis.question
    turn = sum(map(ord, asked)) % len(_MADE)
    taken = [parse(asked).stem_set]
    found: list[str] = []
    for form in (*_SAID, *_MADE[turn:], *_MADE[:turn]):
        for question in form(around):
            inside = parse(question).stem_set
            if all(_alike(inside, other) < SAME for other in taken):
                taken.append(inside)
                found.append(question)
                break
        if len(found) == MOST:
            break
    return tuple(found)


# --- forms -----------------------------------------------------------------------------------


def _asked_before(around: Around) -> Iterator[str]:
    """A past question that was found."""
    for hit in _near(around):
        question = around.past.get(hit.document.id, "")
        if _is_question(question):
            yield question


def _asked_in_heading(around: Around) -> Iterator[str]:
    """A heading that is a question."""
    for hit in _near(around):
        for heading in reversed(_headings(hit)):
            if _is_question(heading):
                yield heading


def _said_by(around: Around) -> Iterator[str]:
    """Somebody who speaks of the subject in a passage that was found."""
    asked = around.analysis.question.casefold()
    for hit in around.hits:
        text = hit.passage.text.casefold()
        for subject in around.subjects:
            if not _named(subject, around) or subject.title.casefold() not in text:
                continue
            for speaker in hit.passage.speakers:
                if _PERSON.fullmatch(speaker) and speaker.casefold() not in asked:
                    yield f"What does {speaker} say about {_written(subject.title)}?"


def _compared(around: Around) -> Iterator[str]:
    """Two entities of one type that are linked as two of a kind, and named in one passage."""
    if around.analysis.type == "comparative":
        return
    for one, other in ((link.subject, link.node) for link in around.links if link.alike):
        both = _named(one, around) and _named(other, around)
        together = (one.title.casefold(), other.title.casefold())
        if one.type != other.type or not one.type or not both:
            continue
        if any(all(name in text for name in together) for text in around.texts):
            yield f"How do {_written(one.title)} and {_written(other.title)} compare?"


def _known(around: Around) -> Iterator[str]:
    """A linked entity that is described; of a list, which no passage was found for, one of it."""
    for link in _telling(around):
        yield f"What is known about {_written(link.node.title)}?"
    asked = around.analysis.question.casefold()
    for subject in around.subjects if not around.texts else ():
        if _named(subject, around) and subject.title.casefold() not in asked:
            yield f"What is known about {_written(subject.title)}?"


def _connected(around: Around) -> Iterator[str]:
    """How a subject is linked to another entity."""
    if around.analysis.type == "relational":
        return
    for link in _telling(around):
        apart = _alike_words(link.subject.title, link.node.title) < SAME
        if apart and _named(link.subject, around):
            one, other = _written(link.subject.title), _written(link.node.title)
            yield f"How is {one} connected to {other}?"


def _new(around: Around) -> Iterator[str]:
    """What the news says of a subject that it names."""
    news = [hit.passage.text.casefold() for hit in around.hits if hit.document.kind == "article"]
    for subject in around.subjects:
        if _named(subject, around) and any(subject.title.casefold() in text for text in news):
            yield f"What is the latest news about {_written(subject.title)}?"


def _about(around: Around) -> Iterator[str]:
    """What a document that was found says about the heading of the passage.

    Headings name tasks and parts ("Count the tools", "Idea") as often as subjects.
    """
    for hit in _near(around):
        title = _flat(hit.document.title)
        heading = _NUMBER.sub("", next(iter(reversed(_headings(hit))), ""))
        if hit.document.kind == "qa" or not _sayable(title) or not _sayable(heading):
            continue
        if _LEANS.search(heading) or heading.split()[0].lower() in SMALL_WORDS:
            continue
        if _is_generic(heading) or _IMPERATIVE.match(heading) or ":" in heading:
            continue
        text = _without(heading, hit.passage.text)
        if _alike_words(title, heading) < SAME and _used(heading, text):
            yield f"What does “{title}” say about {_as_subject(heading, text)}?"


_SAID = (_asked_before, _asked_in_heading, _said_by, _compared)
_MADE = (_about, _connected, _new, _known)


# --- what is near the question ---------------------------------------------------------------


def _near(around: Around) -> list[Hit]:
    """The hits that share words with the question, those that share the most first."""
    asked = frozenset(parse(around.analysis.question).topic_stems)
    shared = [
        (len(asked.intersection(parse(f"{hit.passage.context} {hit.passage.text}").stems)), hit)
        for hit in around.hits
    ]
    near = sorted((pair for pair in shared if pair[0]), key=lambda pair: -pair[0])
    return [hit for _, hit in near]


def _telling(around: Around) -> list[Linked]:
    """The links to what is described, not asked for, and near the question.

    First what shares words with the question, then what the passages found for it name.
    """
    asked = around.analysis.question.casefold()
    own = frozenset(parse(asked).topic_stems)
    shares: list[tuple[int, Linked]] = []
    for link in around.links:
        title = link.node.title.casefold()
        shared = len(own.intersection(parse(title).stems))
        near = shared or any(title in text for text in around.texts)
        if near and _named(link.node, around) and title not in asked:
            shares.append((shared, link))
    return [link for _, link in sorted(shares, key=lambda pair: -pair[0])]


# --- words -----------------------------------------------------------------------------------


def _headings(hit: Hit) -> list[str]:
    """The heading path of the passage, without the title."""
    first = hit.passage.context.partition("\n")[0]
    path = first.removeprefix(hit.document.title).removeprefix(" — ")
    return [_flat(line) for line in path.split(" › ") if line.strip()]


def _named(node: EntityNode, around: Around) -> bool:
    """Whether it is an entity that a question can ask about."""
    return node.document_id in around.described and _sayable(_flat(node.title))


def _sayable(name: str) -> bool:
    """Whether it reads as a name in a sentence: short, plain, with a word in it."""
    if not 3 <= len(name) <= LONGEST_NAME or len(name.split()) > MOST_WORDS:
        return False
    if _ODD.search(name) or name.endswith(("?", "!", ".", ":", ",", ";")):
        return False
    return re.search(r"[^\W\d_]{3}", name) is not None


def _written(name: str) -> str:
    """A name as it stands in a sentence: in quotation marks where it could be taken for more."""
    words = _flat(name).split()
    proper = all(word[:1].isupper() or word[:1].isdigit() or word in SMALL_WORDS for word in words)
    return " ".join(words) if proper or len(words) == 1 else f"“{' '.join(words)}”"


def _as_subject(heading: str, text: str) -> str:
    """A heading as it stands in a sentence: the capital of its first word is no name's.

    A thing of which ``text`` speaks as one of several gets the article that headings leave out.
    """
    words = heading.split()
    if not words[0][1:].islower() or any(word[:1].isupper() for word in words[1:]):
        return _written(heading)
    determined = rf"{_DETERMINED}{re.escape(words[-1].lower())}\b"
    counted = _is_single(heading) and re.search(determined, text, re.IGNORECASE)
    return f"{'the ' if counted else ''}{heading[:1].lower()}{heading[1:]}"


def _without(heading: str, text: str) -> str:
    """``text`` without the lines that are its heading."""
    lines = (line for line in text.splitlines() if _flat(line).lstrip("# ") != heading)
    return "\n".join(lines)


def _used(heading: str, text: str) -> bool:
    """Whether ``text`` speaks of the one word, or the one thing, that its heading names.

    The first words of sentences do not count for a single word: "Count the tools" is no text about
    a count. Other headings ("Common mistakes") need not be repeated below them.
    """
    words = parse(heading).terms
    if len(words) == 1:
        text = _FIRST_WORDS.sub("", text)
    elif not _is_single(heading):
        return bool(words)
    return not parse(text).stem_set.isdisjoint(parse(words[-1]).stems) if words else False


def _is_single(heading: str) -> bool:
    """Whether it names one thing, as far as its form tells: "Open question", not "Risks"."""
    return not singular(heading.split()[-1].lower()) and not _NO_ARTICLE.search(heading)


def _is_question(text: str) -> bool:
    """Whether it can be asked as it is."""
    flat = _flat(text)
    words = flat.split()
    whole = flat.endswith("?") and flat.count("?") == 1 and flat[:1].isupper()
    return whole and 4 <= len(words) <= 20 and not _LEANS.search(flat) and not _ODD.search(flat)


def _is_generic(heading: str) -> bool:
    words = [
        word for word in re.findall(r"[^\W\d_]+", heading.casefold()) if word not in SMALL_WORDS
    ]
    return not words or all(word in SECTION_TITLES for word in words)


def _alike(one: frozenset[str], other: frozenset[str]) -> float:
    """Share of the smaller one's stems that both have."""
    smaller = min(len(one), len(other))
    return len(one & other) / smaller if smaller else 1.0


def _alike_words(one: str, other: str) -> float:
    return _alike(parse(one).stem_set, parse(other).stem_set)


def _flat(text: str) -> str:
    return " ".join(visible(text).split())
