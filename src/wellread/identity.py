"""Ids of documents, versions, passages and sentences, and the identity of the asker.

Most ids are tagged hashes of the item's defining values, and can be recomputed.

The tag (``doc``, ``ver``, ``psg`` ...) is part of the hash and precedes the result, so that two
kinds of item never share an id. The same input gives the same id on every machine and every run.
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
    """The right to read everything, which jobs and commands on the machine itself have."""


EVERYTHING = Everything()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """The user of a request and what they may read. Every request has one.

    Attributes:
        owner: the owner of answers, conversations and preferences: the id of a user, or "" for
            the user of the machine itself.
        reads: the names of the readable collections; the existence of others is not revealed.
        limited: whether this is an API key for some collections only. Such a key does not see
            conversations beyond them; their owner does, even after losing access to a collection.
    """

    owner: str = ""
    reads: frozenset[str] | Everything
    limited: bool = False


LOCAL = Asker(reads=EVERYTHING)  # access to the home's folder means access to everything in it
# Owns nothing: items of the machine itself belong to the empty name.
NOBODY = Asker(owner="(nobody)", reads=frozenset())


def tagged_hash(tag: str, *parts: str | int) -> str:
    """Return ``tag_`` and 24 hex digits of BLAKE2b over the tag and the parts.

    Every part is preceded by its length, so ``("ab", "c")`` and ``("a", "bc")`` differ.
    """
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES, person=tag.encode()[:16])
    for part in parts:
        data = str(part).encode("utf-8")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return f"{tag}_{digest.hexdigest()}"


def random_id(tag: str) -> str:
    """Return an unguessable id of the same form, for answers and runs."""
    return f"{tag}_{secrets.token_hex(DIGEST_BYTES)}"


def document_id(collection: str, uri: str) -> str:
    """Return the id of the document with this collection and URI."""
    return tagged_hash("doc", collection, uri)


def version_of(text: str, marks: tuple[Mark, ...]) -> str:
    """Return the version of a document: a hash of its text and marks."""
    return tagged_hash("ver", text, *(_mark_line(mark) for mark in marks))


def facts_of(document: Document) -> str:
    """Return a hash of all fields of a document except its text and marks.

    It shows that only a title, a date or a tag has changed.
    """
    facts = {field.name: getattr(document, field.name) for field in fields(document)}
    for name in ("collection", "uri", "text", "marks", "transcript_url"):
        del facts[name]
    facts["taxonomy"] = dict(document.taxonomy)
    return tagged_hash("fct", json.dumps(facts, sort_keys=True, default=_plain))


def passage_id(document: str, version: str, span: Span) -> str:
    """Return the id of the passage ``span`` in ``version`` of ``document``."""
    return tagged_hash("psg", document, version, span.start, span.end)


def sentence_words(text: str) -> tuple[str, ...]:
    """Return the casefolded words that identify a sentence, without punctuation."""
    return tuple(_WORD.findall(text.casefold()))


def sentence_hash(text: str) -> str:
    """Return a hash of a sentence that ignores case, white space and punctuation."""
    return tagged_hash("sen", *sentence_words(text))


def words_hash(text: str) -> str:
    """Return a hash of a text that ignores differences in white space."""
    return tagged_hash("wds", " ".join(text.split()))


def _mark_line(mark: Mark) -> str:
    return f"{type(mark).__name__}{json.dumps(asdict(mark), sort_keys=True)}"


def _plain(value: Any) -> object:
    return value.isoformat() if isinstance(value, datetime) else asdict(value)
