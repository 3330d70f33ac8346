"""Formats the documents that an answer cites as BibTeX or CSL-JSON (schema 1.0.2)."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any
from urllib.parse import quote

from wellread.kb import KnowledgeBase
from wellread.types import DocumentFacts, Kind
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
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_TEX = {character: f"\\{character}" for character in "$&#_%"} | {
    "\\": r"\textbackslash{}",
    "{": r"\textbraceleft{}",  # BibTeX counts braces behind a backslash as well
    "}": r"\textbraceright{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
}
_SPECIAL = re.compile("|".join(map(re.escape, _TEX)))
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A cited document: its key in the bibliography, and place and verdict of each citation."""

    key: str
    document: DocumentFacts
    note: str = ""


def works_of(kb: KnowledgeBase, citations: Sequence[Citation]) -> list[Work]:
    """Return the cited documents that still exist, each once, in the order of ``citations``."""
    notes: dict[str, list[str]] = {}
    for citation in citations:
        location = " ".join(citation.locator.label.split())
        note = f"[{citation.id}] {location}{': ' if location else ''}{citation.verdict.label}"
        notes.setdefault(citation.document_id, []).append(note)
    documents = kb.catalogue.facts(tuple(notes))
    works: dict[str, Work] = {}
    for document_id, lines in notes.items():
        if document := documents.get(document_id):
            base_key = _key(document)
            candidates = chain([base_key], (f"{base_key}-{number}" for number in count(2)))
            key = next(key for key in candidates if key not in works)
            works[key] = Work(key=key, document=document, note="; ".join(lines))
    return list(works.values())


def csl_json(works: Sequence[Work]) -> str:
    """Return the works as a list of CSL-JSON items."""
    return json.dumps([_csl_item(work) for work in works], ensure_ascii=False, indent=2) + "\n"


def bibtex(works: Sequence[Work]) -> str:
    """Return one entry for each work. None of them names a journal, so all are ``@misc``."""
    return "\n".join(_bibtex_entry(work) for work in works)


def _csl_item(work: Work) -> dict[str, Any]:
    document, date = work.document, work.document.published_at
    item = {
        "id": work.key,
        "type": CSL_TYPES[document.kind],
        "title": " ".join(document.title.split()),
        "author": [_csl_name(document, name) for name in document.authors],
        "issued": {"date-parts": [[date.year, date.month, date.day]]} if date else None,
        "URL": _web_address(document),
        "language": document.language,
        "genre": document.source_type,
        "note": work.note,
    }
    return {name: value for name, value in item.items() if value}


def _bibtex_entry(work: Work) -> str:
    document, date = work.document, work.document.published_at
    fields = {
        "author": " and ".join(_bibtex_name(document, name) for name in document.authors),
        "title": f"{{{_tex(document.title)}}}",  # braces preserve capital letters
        "year": str(date.year) if date else "",
        "url": quote(_web_address(document), safe="%/:=&?~#+!$,;'@()*[]_-."),
        "note": _tex("; ".join((document.source_type or document.kind, work.note))),
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    if date:
        lines.append(f"  month = {_MONTHS[date.month - 1]},")
    return "\n".join((f"@misc{{{work.key},", *lines, "}", ""))


def _key(document: DocumentFacts) -> str:
    """Return family name, year and first long word of the title ("marrane2026ferry")."""
    family = _name_parts(document.authors[0])[1] if document.authors else ""
    year = document.published_at.year if document.published_at else ""
    words = _ascii(document.title).split()
    title = next((word for word in words if len(word) > 3), "".join(words[:1]))
    key = re.sub("[^a-z0-9]", "", _ascii(f"{family}{year}{title}"))
    return key if key[:1].isalpha() else f"source{key}"


def _name_parts(name: str) -> tuple[str, str]:
    """Return given name and family name, of "Family, Given" or "Given Family"."""
    family, comma, given = name.partition(",")
    if not comma:
        given, _, family = " ".join(name.split()).rpartition(" ")
    return " ".join(given.split()), " ".join(family.split())


def _csl_name(document: DocumentFacts, name: str) -> dict[str, str]:
    given, family = _name_parts(name)
    # Only the authors of papers are surely people; others may be organisations.
    is_person = document.kind == "paper" and given and family
    return {"family": family, "given": given} if is_person else {"literal": " ".join(name.split())}


def _bibtex_name(document: DocumentFacts, name: str) -> str:
    given, family = _name_parts(name)
    joined = _tex(f"{family}, {given}")
    # "and" inside a name would start the next name.
    if document.kind != "paper" or not (given and family) or re.search(r"\band\b", joined, re.I):
        return f"{{{_tex(name)}}}"
    return joined


def _web_address(document: DocumentFacts) -> str:
    address = document.url or document.uri
    return address if "://" in address else ""


def _ascii(text: str) -> str:
    """Return ``text`` in lower case, without accents and other characters outside ASCII."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()


def _tex(text: str) -> str:
    """Return ``text`` on one line with the special characters of LaTeX escaped."""
    flat = " ".join(_CONTROL.sub(" ", text).split())
    return _SPECIAL.sub(lambda match: _TEX[match.group()], flat)
