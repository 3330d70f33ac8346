"""The works that an answer cites in the RIS format, which reference managers read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from wellread.library.works import Work, parts_of
from wellread.text.words import harmless
from wellread.types import Kind

# What a reference manager makes a record of; papers and transcripts are told apart further.
RisType = Literal["CONF", "ELEC", "GEN", "JOUR", "NEWS", "SOUND", "VIDEO"]
RIS_TYPES: Mapping[Kind, RisType] = {
    "paper": "GEN",
    "article": "NEWS",
    "page": "ELEC",
    "transcript": "SOUND",
    "entity": "GEN",
    "qa": "GEN",
}
AUDIO = (".mp3", ".m4a", ".ogg", ".oga", ".opus", ".wav", ".flac")
_JOURNAL = re.compile(r"journal", re.IGNORECASE)
_CONFERENCE = re.compile(r"conference|proceedings", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")


def ris(works: Sequence[Work]) -> str:
    """One record for each work; the format wants CR and LF at the end of every line."""
    return "".join(
        f"{tag}  - {flat}\r\n"
        for work in works
        for tag, value in _fields(work)
        if (flat := _flat(value)) or tag == "ER"
    )


def ris_type(work: Work) -> RisType:
    """What kind of record the work is.

    A paper is what its source calls it, and generic where that says nothing of a journal or a
    conference. A transcript is of a video when its recording is none of sound alone, and of
    speech where no recording is known.
    """
    if work.kind == "paper" and _CONFERENCE.search(work.source_type):
        return "CONF"
    if work.kind == "paper" and _JOURNAL.search(work.source_type):
        return "JOUR"
    if work.kind == "transcript" and work.media_url:
        path = re.split(r"[?#]", work.media_url)[0]
        return "SOUND" if path.lower().endswith(AUDIO) else "VIDEO"
    return RIS_TYPES[work.kind]


def _fields(work: Work) -> Iterator[tuple[str, str]]:
    """Tags and their values in the order of the record; an empty value is left out."""
    yield "TY", ris_type(work)
    yield "ID", work.key
    yield "TI", work.title
    for name in work.authors:
        yield "AU", _named(name, persons=work.persons)
    if work.published_at:
        yield "PY", f"{work.published_at:%Y}"
        yield "DA", f"{work.published_at:%Y/%m/%d}"
    yield "LA", work.language
    for url in dict.fromkeys((work.url, work.media_url)):
        yield "UR", url if "://" in url else ""
    yield "M3", work.source_type
    for note in work.notes:
        yield "N1", note
    yield "ER", ""


def _named(name: str, *, persons: bool) -> str:
    """A person as "von Family, Given"; another name as it is."""
    given, particles, family = parts_of(name)
    if not persons or not given:
        return name
    return f"{particles} {family}, {given}".lstrip()


def _flat(value: str) -> str:
    """``value`` on one line: a line break in it would begin another field."""
    return harmless(" ".join(_CONTROL.sub(" ", value).split()))
