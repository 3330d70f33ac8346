"""The place that an expert gives as the better proof, looked up in the text as it is now."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from wellread.errors import RequestError, UnknownNameError
from wellread.identity import words_hash
from wellread.kb import KnowledgeBase
from wellread.store.schema.stored_values import BetterCitation
from wellread.types import Span

FIELDS = frozenset({"document_id", "version", "start", "end", "content", "words"})


def cited_places(kb: KnowledgeBase, given: Any) -> tuple[BetterCitation, ...]:
    """Each of a list of places.

    Raises:
        RequestError, UnknownNameError: as ``cited_place``.
    """
    if not isinstance(given, list | tuple):
        raise RequestError("“citations” is no list", hint="give a list of places")
    return tuple(cited_place(kb, one) for one in given)


def cited_place(kb: KnowledgeBase, given: Any) -> BetterCitation:
    """A place in a document: by ``start`` and ``end``, or by the ``words`` that stand there.

    ``content``, as an exported file has it, must be the hash of the words that stand there now.

    Raises:
        UnknownNameError: there is no such document.
        RequestError: the place is not in it, or its words are not, or stand there twice.
    """
    if not isinstance(given, Mapping) or not isinstance(given.get("document_id"), str):
        raise RequestError("a better citation names no document", hint='give "document_id"')
    unknown = sorted(set(given) - FIELDS)
    if unknown:
        raise RequestError(f"a better citation has no field “{unknown[0]}”")
    known = given["document_id"]
    document = kb.catalogue.document(known)
    version = kb.catalogue.live_versions([known]).get(known)
    if document is None or version is None:
        raise UnknownNameError(
            f"there is no document {known!r}", hint="'wellread show document' lists them"
        )
    words = given.get("words")
    span = _of_words(document.text, words) if words else _of_numbers(document.text, given)
    content = words_hash(span.of(document.text))
    if given.get("content") not in (None, content):
        raise RequestError(
            f"the words at {span.start}–{span.end} of {known} are others than were cited",
            hint="choose the place again",
        )
    return BetterCitation(document_id=known, version=version, span=span, content=content)


def _of_numbers(text: str, given: Mapping[str, Any]) -> Span:
    start, end = (_whole(given.get(name)) for name in ("start", "end"))
    if not 0 <= start < end <= len(text) or not text[start:end].strip():
        raise RequestError(
            f"there is no text at {given.get('start')}–{given.get('end')} of the document",
            hint=f"it has {len(text):,} characters; or give the words that stand there",
        )
    return Span(start=start, end=end)


def _whole(given: Any) -> int:
    """``given`` as a place; -1, where nothing stands, when it is no whole number."""
    return given if isinstance(given, int) and not isinstance(given, bool) else -1


def _of_words(text: str, words: Any) -> Span:
    if not isinstance(words, str) or not words.strip():
        raise RequestError("the words of a better citation are no text")
    pattern = r"\s+".join(map(re.escape, words.split()))
    found = list(re.finditer(pattern, text))
    if not found:
        raise RequestError("the document does not have these words", hint="copy them from it")
    if len(found) > 1:
        raise RequestError(
            f"the document has these words {len(found)} times",
            hint="take more of what stands around them",
        )
    return Span(start=found[0].start(), end=found[0].end())
