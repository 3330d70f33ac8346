"""The works that an answer cites, with their facts, and as CSL-JSON items (schema 1.0.2) and BibTeX
entries, fit for BibTeX and for biblatex with Biber (UTF-8)."""

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
        key: names it in a bibliography: unique in one, ASCII letters and digits.
        notes: number, place and verdict of each citation of it.
        persons: whether its authors are persons, whose names have parts.
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
        """Papers name persons; what other sources name may be an organisation."""
        return self.kind == "paper"


def works_of(kb: KnowledgeBase, citations: Sequence[Citation]) -> list[Work]:
    """The cited documents that are still there, in the order of ``citations``, each once."""
    ids = tuple(dict.fromkeys(citation.document_id for citation in citations))
    facts = kb.catalogue.facts(ids)
    works: list[Work] = []
    taken: set[str] = set()
    for known in ids:
        if known not in facts:
            continue
        one = facts[known]
        work = Work(
            key="",
            kind=one.kind,
            title=" ".join(one.title.split()),
            url=one.url or one.uri,
            authors=one.authors,
            published_at=one.published_at,
            language=one.language,
            source_type=one.source_type,
            media_url=one.media_url,
            notes=notes_of(citation for citation in citations if citation.document_id == known),
        )
        key = _free(_key(work), taken)
        taken.add(key)
        works.append(replace(work, key=key))
    return works


def notes_of(citations: Iterable[Citation]) -> tuple[str, ...]:
    """Number, place and verdict of each citation ("[2] p. 5: supported")."""
    return tuple(f"[{one.id}] {place_and_verdict(one)}" for one in citations)


def place_and_verdict(citation: Citation) -> str:
    """Where the citation stands in its source, and the verdict of the sentence that it bears."""
    place = " ".join(citation.locator.label.split())
    return f"{place}: {citation.verdict.label}" if place else citation.verdict.label


def csl_item(work: Work) -> dict[str, Any]:
    """The work as an item of CSL-JSON; what is not known is left out."""
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
    """``text`` without accents and without what is not ASCII."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()


def _key(work: Work) -> str:
    """Family name, year and first word of the title ("marrane2026ferry")."""
    author = [parts_of(work.authors[0])[2]] if work.authors else []
    year = [str(work.published_at.year)] if work.published_at else []
    words = re.findall(r"[a-z0-9]+", ascii_of(work.title).lower())
    telling = [word for word in words if word not in _STOP] or words
    key = re.sub(r"[^a-z0-9]", "", ascii_of("".join([*author, *year, *telling[:1]])).lower())
    return key if key[:1].isalpha() else f"source{key}"


def _free(key: str, taken: Container[str]) -> str:
    """``key``, with a number behind it when it is taken."""
    free = chain([key], (f"{key}-{place}" for place in count(2)))
    return next(found for found in free if found not in taken)


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
    """``text`` as LaTeX reads it: every character that means something to it is written out."""
    flat = " ".join(_CONTROL.sub(" ", text).split())
    return _SPECIAL.sub(lambda found: _TEX[found.group()], flat)


def _bibtex_entry(work: Work) -> str:
    fields = {
        "author": " and ".join(_bibtex_name(name, persons=work.persons) for name in work.authors),
        # Braces keep the capitals of names.
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
    """A name as "von Family, Given"; braces keep one that has no parts whole."""
    given, particles, family = parts_of(name)
    if not persons or not given:
        return f"{{{escaped(name)}}}"
    whole = f"{particles} {family}" if particles else family
    # "and" within a name would begin the next one.
    joined = f"{escaped(whole)}, {escaped(given)}"
    return f"{{{joined}}}" if re.search(r"\band\b", joined, re.IGNORECASE) else joined


def _bibtex_url(url: str) -> str:
    """``url`` without what a braced field cannot hold."""
    return quote(url, safe="%/:=&?~#+!$,;'@()*[]_-.")
