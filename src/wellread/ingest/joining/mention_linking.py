"""Links documents to the entities they name; called at the end of every run.

Only documents that are new, that changed or that were searched for other names are searched, so a
run that changed nothing costs one query. Each batch is one transaction: a killed pass goes on
where it was.

Names are found as whole words, the longest first, none twice: one pass of an Aho-Corasick automaton
over the folded text finds every spelling of every name; what surrounds a hit, and how it is
written, decides whether it is one.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import ahocorasick

from wellread.identity import tagged_hash
from wellread.ingest.joining.name_forms import HYPHENS, UNSPACED, Form, fold, forms_of
from wellread.store.catalogue import Catalogue
from wellread.store.catalogue.documents.entity_nodes import (
    EntityNode,
    FoundName,
    MentionScans,
    Unscanned,
)
from wellread.types import Span

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
    return form.case == "exact" or form.written[:1].islower() or not _begins(text, span.start)


def _begins(text: str, start: int) -> bool:
    """Whether a sentence, a line or a quotation begins at ``start``."""
    return _SENTENCE_START.search(text[max(0, start - LOOK_BACK) : start]) is not None


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


@dataclass(frozen=True, slots=True, kw_only=True)
class MentionReport:
    """How many documents a pass searched (the others were up to date), and places it found."""

    scanned: int = 0
    mentions: int = 0


def link_mentions(catalogue: Catalogue, collection: str) -> MentionReport:
    """Find the names of the collection's entities in its documents.

    Raises:
        StoreError: the catalogue refused; batches that were written stay.
    """
    scans = catalogue.graph.scans
    entities = scans.named_entities(collection)
    if not entities:
        scans.forget(collection)
        return MentionReport()
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
    return MentionReport(scanned=scanned, mentions=mentions)


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
    """Document id to the entities that it describes."""
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
