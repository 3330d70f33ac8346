"""Under which spellings an entity is looked for in texts, and how strictly.

Names that are everyday words would turn up everywhere, so such a word counts only as it is
written, and not where a sentence begins. Acronyms and short words count only as they are written
too. The spelling with a singular or plural at the end counts like the name itself.

Names are looked for in a folded text: case, Unicode forms, hyphens and the width of white space do
not count. Folding may change the length (``ß`` becomes ``ss``, two spaces become one), so places
are led back by ``span``.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

from wellread.store.catalogue.documents.entity_nodes import EntityNode
from wellread.text.english_common import COMMON_WORDS, STOP_WORDS
from wellread.text.names import bracketed_forms, is_acronym, plural, singular
from wellread.types import Span

HYPHENS = frozenset("-\u2010\u2011\u2012\u2013")
_QUOTES = {"‘": "'", "’": "'", "ʼ": "'"}
BREAK = "\n"  # stands for a blank line; no name has one


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """A folded text.

    Attributes:
        starts, originals: where each stretch begins, in the folded and in the original text.
        lengths: of a stretch that folding made longer or shorter, its original length; -1 for a
            stretch whose characters stand for one each.
    """

    text: str
    starts: list[int]
    originals: list[int]
    lengths: list[int]

    def span(self, start: int, end: int) -> Span | None:
        """Where ``text[start:end]`` (not empty) stands in the original; None inside a character."""
        first = bisect_right(self.starts, start) - 1
        last = bisect_right(self.starts, end - 1) - 1
        inside = start - self.starts[first]
        if inside and self.lengths[first] >= 0:
            return None
        if self.lengths[last] < 0:
            finish = self.originals[last] + end - self.starts[last]
        elif last + 1 == len(self.starts) or self.starts[last + 1] > end:
            return None
        else:
            finish = self.originals[last] + self.lengths[last]
        return Span(start=self.originals[first] + inside, end=finish)


def fold(text: str) -> Folded:
    """``text`` folded, character by character; runs of white space become one space."""
    table = {char: _fold_character(char) for char in set(text)}
    uneven = "".join(char for char, plain in table.items() if len(plain) != 1)
    special = re.compile(rf"[{re.escape(uneven)}]|\s\s+" if uneven else r"\s\s+")
    mapping = str.maketrans({char: plain for char, plain in table.items() if plain != char})
    pieces: list[str] = []
    starts, originals, lengths = [0], [0], [-1]
    length = place = 0
    for found in special.finditer(text):
        begin, end = found.span()
        pieces.append(text[place:begin].translate(mapping))
        length += begin - place
        run = found.group()
        plain = table[run] if len(run) == 1 else BREAK if run.count("\n") > 1 else " "
        pieces.append(plain)
        starts += (length, length + len(plain))
        originals += (begin, end)
        lengths += (end - begin, -1)
        length += len(plain)
        place = end
    pieces.append(text[place:].translate(mapping))
    # The end is a stretch of its own, so that the last one is known to be over.
    starts.append(length + len(text) - place)
    originals.append(len(text))
    lengths.append(-1)
    return Folded(text="".join(pieces), starts=starts, originals=originals, lengths=lengths)


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
        name: what the entity calls itself.
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


def claimed(forms: Mapping[str, tuple[Form, ...]]) -> list[str]:
    """Spellings that several entities have an equal claim to; nobody is found by them."""
    return [
        folded
        for folded, those in forms.items()
        if len({form.entity_id for form in those if form.rank == those[0].rank}) > 1
    ]


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
