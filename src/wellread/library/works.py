"""The documents that an answer cites, as CSL-JSON items (schema 1.0.2) or BibTeX entries.

The entries suit BibTeX and biblatex with Biber (UTF-8).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, count
from typing import Any
from urllib.parse import quote

from wellread.kb import KnowledgeBase
from wellread.types import Kind
from wellread.values.answers import Citation

# https://docs.citationstyles.org/en/stable/specification.html#appendix-iii-types
CSL_TYPES: Mapping[Kind, str] = {
    "paper": "article",
    "article": "article-newspaper",
    "page": "webpage",
    "transcript": "speech",
    "entity": "entry",
    "qa": "document",
}
_PARTICLES = frozenset("af al bin da de del della den der di dos du la le ten ter van von".split())
_STOP = frozenset("a an and das der die for from in la le of on the to".split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A cited document.

    Attributes:
        key: unique in a bibliography; ASCII letters and digits.
        notes: number, place and verdict of each citation of the document.
        persons: whether its authors are persons, whose names are split into parts.
    """

    key: str
    kind: Kind
    title: str
    url: str
    authors: tuple[str, ...] = ()
    published_at: datetime | None = None
    language: str = ""
    source_type: str = ""
    media_url: str = ""
    notes: tuple[str, ...] = ()

    @property
    def persons(self) -> bool:
        """Whether the authors are persons: true of papers; other sources may name organisations."""
        return self.kind == "paper"


def works_of(kb: KnowledgeBase, citations: Sequence[Citation]) -> list[Work]:
    """The cited documents that still exist, each once, in the order of ``citations``."""
    ids = tuple(dict.fromkeys(citation.document_id for citation in citations))
    facts = kb.catalogue.facts(ids)
    works: list[Work] = []
    taken: set[str] = set()
    for known_id in ids:
        if known_id not in facts:
            continue
        record = facts[known_id]
        work = Work(
            key="",
            kind=record.kind,
            title=" ".join(record.title.split()),
            url=record.url or record.uri,
            authors=record.authors,
            published_at=record.published_at,
            language=record.language,
            source_type=record.source_type,
            media_url=record.media_url,
            notes=notes_of(citation for citation in citations if citation.document_id == known_id),
        )
        key = _unused_key(_key(work), taken)
        taken.add(key)
        works.append(replace(work, key=key))
    return works


def notes_of(citations: Iterable[Citation]) -> tuple[str, ...]:
    """Number, place and verdict of each citation ("[2] p. 5: supported")."""
    return tuple(f"[{one.id}] {place_and_verdict(one)}" for one in citations)


def place_and_verdict(citation: Citation) -> str:
    """The citation's place in its source and the verdict of the sentence it supports."""
    place = " ".join(citation.locator.label.split())
    return f"{place}: {citation.verdict.label}" if place else citation.verdict.label


def csl_item(work: Work) -> dict[str, Any]:
    """The work as a CSL-JSON item, without unknown fields."""
    item: dict[str, Any] = {
        "id": work.key,
        "type": CSL_TYPES[work.kind],
        "title": work.title,
        "author": [_csl_name(name, persons=work.persons) for name in work.authors],
        "issued": _date_parts(work.published_at),
        "URL": work.url if "://" in work.url else "",
        "language": work.language,
        "genre": work.source_type,
        "note": "; ".join(work.notes),
    }
    return {name: value for name, value in item.items() if value}


def parts_of(name: str) -> tuple[str, str, str]:
    """Given name, particles and family name of a person ("Ludwig", "van", "Beethoven")."""
    family, comma, given = (part.strip() for part in name.partition(","))
    words = family.split()
    if comma:
        lead = 0
        while lead < len(words) - 1 and words[lead].lower() in _PARTICLES:
            lead += 1
        return given, " ".join(words[:lead]), " ".join(words[lead:])
    last = len(words) - 1
    first = last
    while first > 1 and words[first - 1].lower() in _PARTICLES:
        first -= 1
    return " ".join(words[:first]), " ".join(words[first:last]), " ".join(words[last:])


def _csl_name(name: str, *, persons: bool) -> dict[str, str]:
    given, particles, family = parts_of(name)
    if not persons or not given:
        return {"literal": " ".join(name.split())}
    named = {"family": family, "given": given, "non-dropping-particle": particles}
    return {part: value for part, value in named.items() if value}


def _date_parts(moment: datetime | None) -> dict[str, list[list[int]]]:
    return {"date-parts": [[moment.year, moment.month, moment.day]]} if moment else {}


def ascii_of(text: str) -> str:
    """``text`` without accents and other non-ASCII characters."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()


def _key(work: Work) -> str:
    """Family name, year and first word of the title ("marrane2026ferry")."""
    author = [parts_of(work.authors[0])[2]] if work.authors else []
    year = [str(work.published_at.year)] if work.published_at else []
    words = re.findall(r"[a-z0-9]+", ascii_of(work.title).lower())
    content_words = [word for word in words if word not in _STOP] or words
    key = re.sub(r"[^a-z0-9]", "", ascii_of("".join([*author, *year, *content_words[:1]])).lower())
    return key if key[:1].isalpha() else f"source{key}"


def _unused_key(key: str, used_keys: Container[str]) -> str:
    free = chain([key], (f"{key}-{place}" for place in count(2)))
    return next(candidate for candidate in free if candidate not in used_keys)


_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_TEX = {
    "\\": r"\textbackslash{}",
    "{": r"\textbraceleft{}",  # BibTeX counts braces behind a backslash as well
    "}": r"\textbraceright{}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
}
_SPECIAL = re.compile("|".join(map(re.escape, _TEX)))
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")


def bibtex(works: Sequence[Work]) -> str:
    """One entry for each work. None of them names a journal, so all are ``@misc``."""
    return "\n".join(_bibtex_entry(work) for work in works)


def escaped(text: str) -> str:
    """``text`` with all LaTeX special characters escaped."""
    flat = " ".join(_CONTROL.sub(" ", text).split())
    return _SPECIAL.sub(lambda found: _TEX[found.group()], flat)


def _bibtex_entry(work: Work) -> str:
    fields = {
        "author": " and ".join(_bibtex_name(name, persons=work.persons) for name in work.authors),
        # Braces preserve capital letters.
        "title": f"{{{escaped(work.title)}}}",
        "year": str(work.published_at.year) if work.published_at else "",
        "url": _bibtex_url(work.url) if "://" in work.url else "",
        "note": escaped("; ".join((work.source_type or work.kind, *work.notes))),
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    if work.published_at:
        lines.append(f"  month = {_MONTHS[work.published_at.month - 1]},")
    return "\n".join((f"@misc{{{work.key},", *lines, "}", ""))


def _bibtex_name(name: str, *, persons: bool) -> str:
    """A name as "von Family, Given"; a name without parts is put in braces."""
    given, particles, family = parts_of(name)
    if not persons or not given:
        return f"{{{escaped(name)}}}"
    full_family = f"{particles} {family}" if particles else family
    # "and" inside a name would start the next name.
    joined = f"{escaped(full_family)}, {escaped(given)}"
    return f"{{{joined}}}" if re.search(r"\band\b", joined, re.IGNORECASE) else joined


def _bibtex_url(url: str) -> str:
    return quote(url, safe="%/:=&?~#+!$,;'@()*[]_-.")
