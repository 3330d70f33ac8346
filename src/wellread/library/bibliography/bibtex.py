"""Works as BibTeX entries, fit for BibTeX and for biblatex with Biber (UTF-8)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote

from wellread.library.bibliography.works import Work, parts_of

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
    return "\n".join(_entry(work) for work in works)


def escaped(text: str) -> str:
    """``text`` as LaTeX reads it: every character that means something to it is written out."""
    flat = " ".join(_CONTROL.sub(" ", text).split())
    return _SPECIAL.sub(lambda found: _TEX[found.group()], flat)


def _entry(work: Work) -> str:
    fields = {
        "author": " and ".join(_name(name, persons=work.persons) for name in work.authors),
        # Braces keep the capitals of names.
        "title": f"{{{escaped(work.title)}}}",
        "year": str(work.published_at.year) if work.published_at else "",
        "url": _url(work.url) if "://" in work.url else "",
        "note": escaped(work.source_type or work.kind),
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    if work.published_at:
        lines.append(f"  month = {_MONTHS[work.published_at.month - 1]},")
    return "\n".join((f"@misc{{{work.key},", *lines, "}", ""))


def _name(name: str, *, persons: bool) -> str:
    """A name as "von Family, Given"; braces keep one that has no parts whole."""
    given, particles, family = parts_of(name)
    if not persons or not given:
        return f"{{{escaped(name)}}}"
    whole = f"{particles} {family}" if particles else family
    # "and" within a name would begin the next one.
    joined = f"{escaped(whole)}, {escaped(given)}"
    return f"{{{joined}}}" if re.search(r"\band\b", joined, re.IGNORECASE) else joined


def _url(url: str) -> str:
    """``url`` without what a braced field cannot hold."""
    return quote(url, safe="%/:=&?~#+!$,;'@()*[]_-.")
