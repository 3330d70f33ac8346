"""Links documents to the entities they name; called at the end of every run.

Only documents that are new, that changed or that were searched for other names are searched, so a
run that changed nothing costs one query. Each batch is one transaction: a killed pass goes on
where it was.

Names are found as whole words, the longest first, none twice: one pass of an Aho-Corasick automaton
over the folded text finds every spelling of every name; what surrounds a hit, and how it is
written, decides whether it is one. Names that are everyday words count only as they are written,
and not where a sentence begins; folding may change the length of a text, so places are led back.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from array import array
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal, NamedTuple

import ahocorasick

from wellread.identity import tagged_hash
from wellread.store.catalogue import Catalogue
from wellread.store.catalogue.documents.entity_nodes import (
    EntityNode,
    FoundName,
    MentionScans,
    Unscanned,
)
from wellread.text.english_common import COMMON_WORDS, STOP_WORDS
from wellread.text.names import bracketed_forms, is_acronym, plural, singular
from wellread.types import Span

HYPHENS = frozenset("-\u2010\u2011\u2012\u2013")
_QUOTES = {"‘": "'", "’": "'", "ʼ": "'"}
_CHARACTERS = re.compile(r"\s\s+|.", re.DOTALL)
BREAK = "\n"  # stands for a blank line; no name has one


class Folded(NamedTuple):
    """A folded text, with the place in the original of each of its characters and of its end."""

    text: str
    places: array[int]

    def span(self, start: int, end: int) -> Span | None:
        """Where ``text[start:end]`` (not empty) stands in the original; None inside a character."""
        if any(at and self.places[at] == self.places[at - 1] for at in (start, end)):
            return None
        return Span(start=self.places[start], end=self.places[end])


def fold(text: str) -> Folded:
    """``text`` folded, character by character; runs of white space become one space."""
    table = {char: _fold_character(char) for char in set(text)}
    pieces: list[str] = []
    places = array("L")
    for found in _CHARACTERS.finditer(text):
        run = found.group()
        plain = table[run] if len(run) == 1 else BREAK if run.count("\n") > 1 else " "
        pieces.append(plain)
        places.extend([found.start()] * len(plain))
    places.append(len(text))
    return Folded("".join(pieces), places)


def _fold_character(char: str) -> str:
    """What one character folds to; nothing for one that is not seen (a soft hyphen)."""
    if char.isspace() or char in HYPHENS:
        return " "
    if char in _QUOTES:
        return "'"
    if unicodedata.category(char) == "Cf":
        return ""
    plain = unicodedata.normalize("NFKD", char).casefold()
    return " ".join(unicodedata.normalize("NFKD", plain).split())


Case = Literal["any", "exact", "inside"]  # inside: exact, and not the first word of a sentence

LEAST_CHARACTERS = 3
SHORT = 3  # characters up to which a single word has to be written exactly so
MOST_CHARACTERS = 200
_SLUG = re.compile(r"[a-z][a-z0-9]*(?:[-_ ][a-z0-9]+)*")
_HUMP = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_LAST_WORD = re.compile(r"[A-Za-z]{3,}$")
# Scripts that write words without spaces between them.
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One spelling of an entity's name.

    Attributes:
        written: the spelling, for those that count only as they are written.
        rank: of two entities with the same spelling the lower one has it.
    """

    entity_id: str
    name: str
    written: str
    case: Case
    rank: int


def forms_of(entities: Iterable[EntityNode]) -> dict[str, tuple[Form, ...]]:
    """Folded spelling to those who are called so, the better claims first."""
    found: dict[str, dict[Form, None]] = {}
    for entity in entities:
        for form in _forms(entity):
            folded = fold(form.written).text.strip()
            if folded:
                found.setdefault(folded, {})[form] = None
    return {
        folded: tuple(sorted(forms, key=lambda form: (form.rank, form.entity_id)))
        for folded, forms in found.items()
    }


def _forms(entity: EntityNode) -> Iterator[Form]:
    given = (entity.title, *entity.aliases)
    own = _readable(entity.id, given)
    names = [(entity.title, 0), *((alias, 1) for alias in entity.aliases)]
    # Where the id is the title, the title says how it is written; and an id that is an everyday
    # word is a key, not a name.
    if own.casefold() not in (name.casefold() for name in given):
        names += [(own, 2)] if is_acronym(own) or _case(own) == "any" else []
    names += [(form, 3) for name in given for form in bracketed_forms(name)]
    seen: set[str] = set()
    for name, standing in names:
        written = " ".join(name.split())
        if written in seen or not _is_name(written):
            continue
        seen.add(written)
        case = _case(written)
        # Of several with one title it belongs to the one with that id.
        rank = -1 if written.casefold() == own else standing
        yield Form(entity_id=entity.id, name=name, written=written, case=case, rank=rank)
        variant = _other_number(written)
        if _is_name(variant) and variant.lower() not in COMMON_WORDS:
            yield Form(entity_id=entity.id, name=name, written=variant, case=case, rank=rank + 10)


def _readable(entity_id: str, names: Iterable[str]) -> str:
    """An id as words, when it is made of words; capitals when it is made of a name's initials."""
    if not _SLUG.fullmatch(entity_id):
        return ""
    words = entity_id.replace("_", " ").replace("-", " ")
    initials = {"".join(word[0] for word in _HUMP.findall(name)).lower() for name in names}
    return words.upper() if words in initials else words


def _is_name(written: str) -> bool:
    if len(written) > MOST_CHARACTERS or not any(char.isalpha() for char in written):
        return False
    if is_acronym(written) or UNSPACED.search(written):
        return len(written) > 1
    return len(written) >= LEAST_CHARACTERS and written.lower() not in STOP_WORDS


def _case(written: str) -> Case:
    words = written.lower().replace("-", " ").split()
    if is_acronym(written):
        return "exact"
    telling = [word for word in words if word not in STOP_WORDS]
    if len(telling) < 2 and all(
        word in COMMON_WORDS or singular(word) in COMMON_WORDS for word in telling
    ):
        return "inside" if len(words) == 1 else "exact"
    return "exact" if len(written) <= SHORT else "any"


def _other_number(written: str) -> str:
    """The name with its last word in the plural, or in the singular; empty when it has neither."""
    if is_acronym(written):
        return written[:-1] if written.endswith("s") else f"{written}s"
    found = _LAST_WORD.search(written)
    if not found:
        return ""
    word, plain = found.group(), found.group().lower()
    other = singular(plain) or plural(plain)
    same = sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(plain, other, strict=False))
    )
    return written[: found.start()] + word[:same] + other[same:]


_APOSTROPHES = "'’ʼ"
_IN_ADDRESSES = frozenset("/:.@?&=%~#+-_\\")
_ADDRESS = re.compile(r"\w://|^\W*(?:www\.|~?\.{0,2}/|\w:\\)|\w@\w|\w\.[a-z]{2,}/", re.IGNORECASE)
_SENTENCE_START = re.compile(r"(?:^|[.!?:;…\n|]|^\d+[.)])[\s\"'“”‘’«»()\[\]*•‣▪–—-]*$")
_GAPS = re.compile(rf"[\s{re.escape(''.join(sorted(HYPHENS)))}]+")
LOOK_BACK = 40  # characters before a name that tell whether a sentence begins with it


class NameFinder:
    """Looks for all spellings of ``forms`` at once; made once, used for many texts."""

    def __init__(self, forms: Mapping[str, tuple[Form, ...]]) -> None:
        self._automaton = ahocorasick.Automaton()
        for folded, those in forms.items():
            self._automaton.add_word(folded, (len(folded), those))
        self._empty = not forms
        if not self._empty:
            self._automaton.make_automaton()

    def find(self, text: str, own: Set[str] = frozenset()) -> list[FoundName]:
        """The names in ``text``, in reading order; they do not overlap.

        Args:
            own: entities that the text describes. Their names are not reported, and what stands
                inside of them is not either.
        """
        taken: list[Span] = []
        found: list[FoundName] = []
        hits = sorted(self._hits(text), key=lambda hit: (hit[0].start - hit[0].end, hit[0].start))
        for span, those in hits:
            place = bisect_left(taken, span.start, key=lambda one: one.start)
            if any(span.overlaps(one) for one in taken[max(place - 1, 0) : place + 1]):
                continue
            form = _claim(text, span, those)
            if form is None:
                continue
            insort(taken, span, key=lambda one: one.start)
            if form.entity_id not in own:
                found.append(FoundName(entity_id=form.entity_id, span=span, name=form.name))
        return sorted(found, key=lambda one: one.span.start)

    def _hits(self, text: str) -> Iterator[tuple[Span, tuple[Form, ...]]]:
        """Every spelling that stands in ``text`` as whole words."""
        if self._empty:
            return
        folded = fold(text)
        for last, (length, those) in self._automaton.iter(folded.text):
            span = folded.span(last + 1 - length, last + 1)
            if span and _is_whole(text, span):
                yield span, those


def _claim(text: str, span: Span, those: tuple[Form, ...]) -> Form | None:
    """Who is meant: the best claim to the spelling as it stands there, unless there are two."""
    fitting = [form for form in those if _fits(text, span, form)]
    if not fitting:
        return None
    best = [form for form in fitting if form.rank == fitting[0].rank]
    if len({form.entity_id for form in best}) > 1:
        best = [form for form in best if _is_written(text, span, form)]
    return best[0] if len({form.entity_id for form in best}) == 1 else None


def _is_written(text: str, span: Span, form: Form) -> bool:
    return _GAPS.sub(" ", span.of(text)) == _GAPS.sub(" ", form.written)


def _fits(text: str, span: Span, form: Form) -> bool:
    if form.case == "any":
        return True
    if not _is_written(text, span, form):
        return False
    begins = _SENTENCE_START.search(text[max(0, span.start - LOOK_BACK) : span.start])
    return form.case == "exact" or form.written[:1].islower() or not begins


def _is_whole(text: str, span: Span) -> bool:
    """Whether the span is neither part of a longer word or identifier nor of an address."""
    start, end = span.start, span.end
    before = text[start - 1] if start else " "
    after = text[end] if end < len(text) else " "
    if _joins(before, text[start]) or _joins(after, text[end - 1]):
        return False
    if before in _APOSTROPHES and start > 1 and text[start - 2].isalnum():  # O'Brien
        return False
    if before == "." and start > 1 and text[start - 2].isalnum():  # file.name
        return False
    following = text[end + 1] if end + 1 < len(text) else " "
    if after == "." and (following.islower() or following.isdigit()):  # Node.js
        return False
    if before in _IN_ADDRESSES or after in _IN_ADDRESSES:
        return not _in_address(text, span)
    return True


def _joins(outside: str, inside: str) -> bool:
    """Whether two neighbouring characters belong to one word."""
    if not (outside.isalnum() or outside == "_" or unicodedata.category(outside)[0] == "M"):
        return False
    return not (UNSPACED.match(outside) and UNSPACED.match(inside))


def _in_address(text: str, span: Span) -> bool:
    """Whether the word around the span is a web or mail address or a path."""
    begin = max(text.rfind(gap, 0, span.start) for gap in " \n\t(<[\"'") + 1
    finish = min(
        (found for gap in " \n\t)>]\"'" if (found := text.find(gap, span.end)) >= 0),
        default=len(text),
    )
    return _ADDRESS.search(text[begin:finish]) is not None


logger = logging.getLogger(__name__)

RULES = 1  # raise it when names are found by other rules
MOST_PER_ENTITY = 200  # mentions of one entity that are kept of one document
BATCH_DOCUMENTS = 500
BATCH_CHARACTERS = 2_000_000


def link_mentions(catalogue: Catalogue, collection: str) -> int:
    """Find the names of the collection's entities in its documents; how many were searched.

    The others were up to date."""
    scans = catalogue.graph.scans
    entities = scans.named_entities(collection)
    if not entities:
        scans.forget(collection)
        return 0
    names = names_digest(entities)
    scanned = mentions = 0
    finder: NameFinder | None = None
    own: dict[str, set[str]] = {}
    for batch in _batches(scans, collection, names):
        if finder is None:
            finder = NameFinder(forms_of(entities))
            own = _described(entities)
        texts = scans.texts(one.document_id for one in batch)
        found = {
            (one.document_id, one.version): _kept(
                finder.find(texts.get(one.document_id, ""), own.get(one.document_id, set()))
            )
            for one in batch
        }
        mentions += scans.keep(names, found)
        scanned += len(batch)
    if scanned:
        logger.info("searched %d documents of %s for names: %d", scanned, collection, mentions)
    return scanned


def names_digest(entities: Sequence[EntityNode]) -> str:
    """Changes with the names, with who describes them, and with the rules they are found by."""
    parts = [
        "\x1f".join((one.id, one.title, *one.aliases, "", *sorted(one.documents)))
        for one in entities
    ]
    return tagged_hash("nms", RULES, MOST_PER_ENTITY, "\x1e".join(parts))


def _batches(scans: MentionScans, collection: str, names: str) -> Iterator[list[Unscanned]]:
    """Documents that are still to be searched, each once, a few million characters at a time."""
    after = ""
    while True:
        waiting = scans.unscanned(collection, names, after, BATCH_DOCUMENTS)
        batch: list[Unscanned] = []
        characters = 0
        for one in waiting:
            if batch and characters + one.characters > BATCH_CHARACTERS:
                break
            batch.append(one)
            characters += one.characters
        if not batch:
            return
        yield batch
        after = batch[-1].document_id


def _described(entities: Sequence[EntityNode]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for entity in entities:
        for document_id in entity.documents:
            found.setdefault(document_id, set()).add(entity.id)
    return found


def _kept(found: Sequence[FoundName]) -> list[FoundName]:
    """``found`` with the first mentions of each entity only."""
    counts: Counter[str] = Counter()
    kept = []
    for one in found:
        counts[one.entity_id] += 1
        if counts[one.entity_id] <= MOST_PER_ENTITY:
            kept.append(one)
    return kept
