"""Finds mentions of entities in documents; runs at the end of every ingest run.

Only documents that are new or changed, or that were last searched for other names, are searched, so
a run without changes costs one query. Each batch is one transaction: a killed run continues where
it stopped.

Names are found as whole words, the longest first, without overlaps: one pass of an Aho-Corasick
automaton over the folded text finds every spelling of every name; context and exact spelling decide
whether a hit counts. Names that are everyday words need their exact spelling and do not count at
the start of a sentence. Folding may change lengths, so positions are mapped to the original.
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
    UnscannedDocument,
)
from wellread.text.english import COMMON_WORDS, NEVER_NAMES
from wellread.text.tokens import bracketed_forms, is_acronym, plural, singular
from wellread.types import Span

HYPHENS = frozenset("-\u2010\u2011\u2012\u2013")
_QUOTES = {"‘": "'", "’": "'", "ʼ": "'"}
_CHARACTERS = re.compile(r"\s\s+|.", re.DOTALL)
BREAK = "\n"  # replaces a blank line; names contain none


class Folded(NamedTuple):
    """A folded text, with the original position of each of its characters and of its end."""

    text: str
    positions: array[int]

    def span(self, start: int, end: int) -> Span | None:
        """Return the original span of ``text[start:end]``; None if it splits a character."""
        if any(i and self.positions[i] == self.positions[i - 1] for i in (start, end)):
            return None
        return Span(start=self.positions[start], end=self.positions[end])


def fold(text: str) -> Folded:
    """Fold ``text`` character by character; runs of white space become one space."""
    forms = {char: _fold_character(char) for char in set(text)}
    parts: list[str] = []
    positions = array("L")
    for match in _CHARACTERS.finditer(text):
        part = match.group()
        plain = forms[part] if len(part) == 1 else BREAK if part.count("\n") > 1 else " "
        parts.append(plain)
        positions.extend([match.start()] * len(plain))
    positions.append(len(text))
    return Folded("".join(parts), positions)


def _fold_character(char: str) -> str:
    """Return the folded form of a character; empty if it is invisible (a soft hyphen)."""
    if char.isspace() or char in HYPHENS:
        return " "
    if char in _QUOTES:
        return "'"
    if unicodedata.category(char) == "Cf":
        return ""
    plain = unicodedata.normalize("NFKD", char).casefold()
    return " ".join(unicodedata.normalize("NFKD", plain).split())


Case = Literal["any", "exact", "inside"]  # inside: exact, and not the first word of a sentence

MIN_NAME_CHARS = 3
MAX_EXACT_CHARS = 3  # characters; a name of at most this length needs its exact spelling
MAX_NAME_CHARS = 200
_SLUG = re.compile(r"[a-z][a-z0-9]*(?:[-_ ][a-z0-9]+)*")
_HUMP = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_LAST_WORD = re.compile(r"[A-Za-z]{3,}$")
# Scripts without spaces between words.
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One spelling of an entity's name.

    Attributes:
        written: the exact spelling, required unless ``case`` is "any".
        rank: if entities share a spelling, the lowest rank wins.
    """

    entity_id: str
    name: str
    written: str
    case: Case
    rank: int


def forms_of(entities: Iterable[EntityNode]) -> dict[str, tuple[Form, ...]]:
    """Map each folded spelling to the forms of all entities that have it, lowest rank first."""
    by_spelling: dict[str, dict[Form, None]] = {}
    for entity in entities:
        for form in _forms(entity):
            folded = fold(form.written).text.strip()
            if folded:
                by_spelling.setdefault(folded, {})[form] = None
    return {
        folded: tuple(sorted(forms, key=lambda form: (form.rank, form.entity_id)))
        for folded, forms in by_spelling.items()
    }


def _forms(entity: EntityNode) -> Iterator[Form]:
    own_names = (entity.title, *entity.aliases)
    id_name = _readable_id(entity.id, own_names)
    names = [(entity.title, 0), *((alias, 1) for alias in entity.aliases)]
    # If the id equals a name, that name has the right spelling. An id that is an everyday word is
    # a key, not a name.
    if id_name.casefold() not in (name.casefold() for name in own_names):
        names += [(id_name, 2)] if is_acronym(id_name) or _case(id_name) == "any" else []
    names += [(form, 3) for name in own_names for form in bracketed_forms(name)]
    seen: set[str] = set()
    for name, base_rank in names:
        written = " ".join(name.split())
        if written in seen or not _is_name(written):
            continue
        seen.add(written)
        case = _case(written)
        # If several entities have the same title, it belongs to the one with that id.
        rank = -1 if written.casefold() == id_name else base_rank
        yield Form(entity_id=entity.id, name=name, written=written, case=case, rank=rank)
        variant = _other_number(written)
        if _is_name(variant) and variant.lower() not in COMMON_WORDS:
            yield Form(entity_id=entity.id, name=name, written=variant, case=case, rank=rank + 10)


def _readable_id(entity_id: str, names: Iterable[str]) -> str:
    """Return an id as words (in capitals if it is a name's initials); empty if it is not words."""
    if not _SLUG.fullmatch(entity_id):
        return ""
    words = entity_id.replace("_", " ").replace("-", " ")
    initials = {"".join(word[0] for word in _HUMP.findall(name)).lower() for name in names}
    return words.upper() if words in initials else words


def _is_name(written: str) -> bool:
    if len(written) > MAX_NAME_CHARS or not any(char.isalpha() for char in written):
        return False
    if is_acronym(written) or UNSPACED.search(written):
        return len(written) > 1
    return len(written) >= MIN_NAME_CHARS and written.lower() not in NEVER_NAMES


def _case(written: str) -> Case:
    words = written.lower().replace("-", " ").split()
    if is_acronym(written):
        return "exact"
    content = [word for word in words if word not in NEVER_NAMES]
    if len(content) < 2 and all(
        word in COMMON_WORDS or singular(word) in COMMON_WORDS for word in content
    ):
        return "inside" if len(words) == 1 else "exact"
    return "exact" if len(written) <= MAX_EXACT_CHARS else "any"


def _other_number(written: str) -> str:
    """Return the name with its last word in the other number; empty if it has none."""
    if is_acronym(written):
        return written[:-1] if written.endswith("s") else f"{written}s"
    match = _LAST_WORD.search(written)
    if not match:
        return ""
    word, plain = match.group(), match.group().lower()
    other = singular(plain) or plural(plain)
    shared_length = sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(plain, other, strict=False))
    )
    return written[: match.start()] + word[:shared_length] + other[shared_length:]


_APOSTROPHES = "'’ʼ"
_IN_ADDRESSES = frozenset("/:.@?&=%~#+-_\\")
_ADDRESS = re.compile(r"\w://|^\W*(?:www\.|~?\.{0,2}/|\w:\\)|\w@\w|\w\.[a-z]{2,}/", re.IGNORECASE)
_SENTENCE_START = re.compile(r"(?:^|[.!?:;…\n|]|^\d+[.)])[\s\"'“”‘’«»()\[\]*•‣▪–—-]*$")
_GAPS = re.compile(rf"[\s{re.escape(''.join(sorted(HYPHENS)))}]+")
LOOK_BACK_CHARS = 40  # characters before a name that are checked for the start of a sentence


class NameFinder:
    """Searches texts for all spellings of ``forms`` at once; build it once for many texts."""

    def __init__(self, forms: Mapping[str, tuple[Form, ...]]) -> None:
        self._automaton = ahocorasick.Automaton()
        for folded, spelling_forms in forms.items():
            self._automaton.add_word(folded, (len(folded), spelling_forms))
        self._empty = not forms
        if not self._empty:
            self._automaton.make_automaton()

    def find(self, text: str, described: Set[str] = frozenset()) -> list[FoundName]:
        """Return the names in ``text``, in reading order and without overlaps.

        Args:
            described: ids of entities that the text describes. Neither their names nor other names
                inside of these are reported.
        """
        used_spans: list[Span] = []
        mentions: list[FoundName] = []
        hits = sorted(self._hits(text), key=lambda hit: (hit[0].start - hit[0].end, hit[0].start))
        for span, candidates in hits:
            index = bisect_left(used_spans, span.start, key=lambda item: item.start)
            if any(span.overlaps(item) for item in used_spans[max(index - 1, 0) : index + 1]):
                continue
            form = _best_form(text, span, candidates)
            if form is None:
                continue
            insort(used_spans, span, key=lambda item: item.start)
            if form.entity_id not in described:
                mentions.append(FoundName(entity_id=form.entity_id, span=span, name=form.name))
        return sorted(mentions, key=lambda item: item.span.start)

    def _hits(self, text: str) -> Iterator[tuple[Span, tuple[Form, ...]]]:
        if self._empty:
            return
        folded = fold(text)
        for last, (length, candidates) in self._automaton.iter(folded.text):
            span = folded.span(last + 1 - length, last + 1)
            if span and _is_whole(text, span):
                yield span, candidates


def _best_form(text: str, span: Span, forms: tuple[Form, ...]) -> Form | None:
    """Return the form with the best claim to this spelling, unless two entities tie."""
    fitting = [form for form in forms if _has_required_case(text, span, form)]
    if not fitting:
        return None
    best = [form for form in fitting if form.rank == fitting[0].rank]
    if len({form.entity_id for form in best}) > 1:
        best = [form for form in best if _is_written(text, span, form)]
    return best[0] if len({form.entity_id for form in best}) == 1 else None


def _is_written(text: str, span: Span, form: Form) -> bool:
    return _GAPS.sub(" ", span.of(text)) == _GAPS.sub(" ", form.written)


def _has_required_case(text: str, span: Span, form: Form) -> bool:
    if form.case == "any":
        return True
    if not _is_written(text, span, form):
        return False
    begins = _SENTENCE_START.search(text[max(0, span.start - LOOK_BACK_CHARS) : span.start])
    return form.case == "exact" or form.written[:1].islower() or not begins


def _is_whole(text: str, span: Span) -> bool:
    """Whether the span is a whole word, not part of a longer word, identifier or address."""
    start, end = span.start, span.end
    before = text[start - 1] if start else " "
    after = text[end] if end < len(text) else " "
    if _continues_word(before, text[start]) or _continues_word(after, text[end - 1]):
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


def _continues_word(outside: str, edge: str) -> bool:
    if not (outside.isalnum() or outside == "_" or unicodedata.category(outside)[0] == "M"):
        return False
    return not (UNSPACED.match(outside) and UNSPACED.match(edge))


def _in_address(text: str, span: Span) -> bool:
    """Whether the word around the span is a web or mail address or a path."""
    begin = max(text.rfind(gap, 0, span.start) for gap in " \n\t(<[\"'") + 1
    finish = min(
        (position for gap in " \n\t)>]\"'" if (position := text.find(gap, span.end)) >= 0),
        default=len(text),
    )
    return _ADDRESS.search(text[begin:finish]) is not None


logger = logging.getLogger(__name__)

RULES = 1  # raise it when the rules for finding names change
MAX_PER_ENTITY = 200  # stored mentions of one entity per document
MAX_BATCH_DOCUMENTS = 500
MAX_BATCH_CHARS = 2_000_000


def link_mentions(catalogue: Catalogue, collection: str) -> int:
    """Search outdated documents for the names of the collection's entities; return their number."""
    scans = catalogue.graph.scans
    entities = scans.named_entities(collection)
    if not entities:
        scans.forget(collection)
        return 0
    names = names_digest(entities)
    scanned = mentions = 0
    finder: NameFinder | None = None
    described: dict[str, set[str]] = {}
    for batch in _batches(scans, collection, names):
        if finder is None:
            finder = NameFinder(forms_of(entities))
            for entity in entities:
                for document_id in entity.documents:
                    described.setdefault(document_id, set()).add(entity.id)
        texts = scans.texts(doc.document_id for doc in batch)
        found_names = {
            (doc.document_id, doc.version): _limit_mentions(
                finder.find(texts.get(doc.document_id, ""), described.get(doc.document_id, set()))
            )
            for doc in batch
        }
        mentions += scans.keep(names, found_names)
        scanned += len(batch)
    if scanned:
        logger.info("searched %d documents of %s for names: %d", scanned, collection, mentions)
    return scanned


def names_digest(entities: Sequence[EntityNode]) -> str:
    """Return a stamp that changes with the names, the described documents and the rules."""
    parts = [
        "\x1f".join((entity.id, entity.title, *entity.aliases, "", *sorted(entity.documents)))
        for entity in entities
    ]
    return tagged_hash("nms", RULES, MAX_PER_ENTITY, "\x1e".join(parts))


def _batches(scans: MentionScans, collection: str, names: str) -> Iterator[list[UnscannedDocument]]:
    """Yield the documents still to be searched, a few million characters at a time."""
    after = ""
    while True:
        waiting = scans.unscanned(collection, names, after, MAX_BATCH_DOCUMENTS)
        batch: list[UnscannedDocument] = []
        characters = 0
        for document in waiting:
            if batch and characters + document.characters > MAX_BATCH_CHARS:
                break
            batch.append(document)
            characters += document.characters
        if not batch:
            return
        yield batch
        after = batch[-1].document_id


def _limit_mentions(mentions: Sequence[FoundName]) -> list[FoundName]:
    counts: Counter[str] = Counter()
    limited = []
    for mention in mentions:
        counts[mention.entity_id] += 1
        if counts[mention.entity_id] <= MAX_PER_ENTITY:
            limited.append(mention)
    return limited
