"""Ids of things, and who asks.

Most ids are tagged hashes of what makes the thing itself, and so can be made again.

The tag (``doc``, ``ver``, ``psg`` ...) goes into the hash and in front of the result, so that two
kinds of thing never share an id. The same input gives the same id on every machine and every run.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any

from wellread.types import Document, Mark, Span

DIGEST_BYTES = 12
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Everything:
    """Reads with all rights: what commands on the machine itself, and jobs, hold."""


EVERYTHING = Everything()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Whose request it is, and what it may read. There is no request without one.

    Attributes:
        owner: whose answers, conversations and preferences these are: the id of a user, or ""
            for whoever sits at the machine itself.
        reads: the names of the collections that may be read; of others nothing is told.
        limited: whether it is a key to some collections, to which a conversation that goes beyond
            them is not there. To its owner it is, also where a collection was closed to them.
    """

    owner: str = ""
    reads: frozenset[str] | Everything
    limited: bool = False


LOCAL = Asker(reads=EVERYTHING)  # whoever has the home's folder has all that is in it
# Of whom nothing is: the machine's own things belong to the empty name.
NOBODY = Asker(owner="(nobody)", reads=frozenset())


def tagged_hash(tag: str, *parts: str | int) -> str:
    """``tag_`` and 24 hex digits of BLAKE2b over the tag and the parts.

    Every part is preceded by its length, so ``("ab", "c")`` and ``("a", "bc")`` differ.
    """
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES, person=tag.encode()[:16])
    for part in parts:
        data = str(part).encode("utf-8")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return f"{tag}_{digest.hexdigest()}"


def random_id(tag: str) -> str:
    """An id of the same form that nobody can guess: of what was asked and of what was run."""
    return f"{tag}_{secrets.token_hex(DIGEST_BYTES)}"


def document_id(collection: str, uri: str) -> str:
    """The id of the document known by (collection, uri)."""
    return tagged_hash("doc", collection, uri)


def version_of(text: str, marks: tuple[Mark, ...]) -> str:
    """The version: a hash of the text and its marks."""
    return tagged_hash("ver", text, *(_mark_line(mark) for mark in marks))


def facts_of(document: Document) -> str:
    """A hash of everything of a document except its text and marks.

    Two versions with the same text differ here when only a title, a date or a tag changed.
    """
    facts = {each.name: getattr(document, each.name) for each in fields(document)}
    for known in ("collection", "uri", "text", "marks"):
        del facts[known]
    facts["taxonomy"] = dict(document.taxonomy)
    return tagged_hash("fct", json.dumps(facts, sort_keys=True, default=_plain))


def passage_id(document: str, version: str, span: Span) -> str:
    """The id of the passage ``span`` of ``version`` of ``document``."""
    return tagged_hash("psg", document, version, span.start, span.end)


def sentence_words(text: str) -> tuple[str, ...]:
    """The words by which a sentence is known again: case and punctuation do not count."""
    return tuple(_WORD.findall(text.casefold()))


def sentence_hash(text: str) -> str:
    """A hash by which a sentence is known again: case, white space and punctuation do not count."""
    return tagged_hash("sen", *sentence_words(text))


def words_hash(text: str) -> str:
    """A hash of the words of a place in a text; white space alone does not change it."""
    return tagged_hash("wds", " ".join(text.split()))


def _mark_line(mark: Mark) -> str:
    return f"{type(mark).__name__}{json.dumps(asdict(mark), sort_keys=True)}"


def _plain(value: Any) -> object:
    return value.isoformat() if isinstance(value, datetime) else asdict(value)
