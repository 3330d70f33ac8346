"""What a feed's entries lead to: the whole article where the feed carries only its beginning.

A feed is read again whenever it changes, and most of its entries are those of last time. What was
followed is therefore remembered by a digest of the entry; an entry that is still the same is left
as it is, and its page is not asked for again.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from wellread.errors import SourceError
from wellread.identity import facts_of, tagged_hash, version_of
from wellread.ingest.sources.addresses import FetchError
from wellread.ingest.sources.fetching import Fetched, NotModified
from wellread.types import Document

logger = logging.getLogger(__name__)

ENTRY_LOADER = "feed-entry/1"  # of the source record that remembers a followed entry
WHOLE_CHARACTERS = 2_500  # a longer text without a sign of a cut is the article itself
LEAST_MORE = 100  # characters; less is the page's own title and menu
LEAST_SHARED = 0.4  # of the entry's words that its page must hold
WHOLE_TYPES = ("html", "pdf")  # a page whose main text was found; not "html-full", its whole body

_CUT = re.compile(
    r"(?:\[?(?:…|\.\.\.|&hellip;)\]?|\[…\]|read (?:the )?(?:more|full|rest)\b.{0,40}"
    r"|continue reading\b.{0,80}|weiterlesen.{0,40}|lire la suite.{0,40})[\s.»→>]*$",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w{4,}")

Fetch = Callable[[str], Fetched | NotModified]
ParsePage = Callable[[str, Fetched], Sequence[Document]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedEntry:
    """An entry of a feed that is new or changed.

    Attributes:
        document: with the page's text, or as the feed gave it.
        digest: of the entry as the feed gave it; empty when its page is to be tried again.
        reason: why its page was not taken; empty otherwise.
    """

    document: Document
    digest: str
    reason: str = ""


def follow_entries(
    documents: Sequence[Document],
    *,
    known: Mapping[str, str],
    fetch: Fetch,
    parse: ParsePage,
    limit: int,
) -> list[FollowedEntry]:
    """The entries of a feed that are not what they were, with their articles.

    Args:
        known: uri of an entry to its digest when it was followed last.
        fetch: gets a page; raises FetchError.
        parse: the documents of a fetched page; raises SourceError.
        limit: most pages that are fetched.
    """
    followed = []
    asked = 0
    for document in documents:
        digest = entry_digest(document)
        if known.get(document.uri) == digest:
            continue
        if not needs_page(document):
            followed.append(FollowedEntry(document=document, digest=digest))
        elif asked >= limit:
            reason = f"not followed: the limit is {limit} pages in one run"
            followed.append(FollowedEntry(document=document, digest="", reason=reason))
        else:
            asked += 1
            followed.append(_followed(document, digest, fetch, parse))
    return followed


def entry_digest(document: Document) -> str:
    """What tells whether an entry is still what it was, as the feed gives it."""
    return tagged_hash("ent", version_of(document.text, document.marks), facts_of(document))


def needs_page(document: Document) -> bool:
    """Whether the feed gave no more of the article than its beginning or a summary.

    A feed's loader keeps the summary apart where the feed has the content as well.
    """
    if not document.url or document.summary:
        return False
    return len(document.text) < WHOLE_CHARACTERS or bool(_CUT.search(document.text))


def merged(entry: Document, page: Document) -> Document | None:
    """The entry with the text of its page; None when that is not its article, or not more of it.

    What the feed says (title, date, authors) stays; the page says it where the feed does not.
    """
    if page.source_type not in WHOLE_TYPES or len(page.text) < len(entry.text) + LEAST_MORE:
        return None
    # A login or a notice about cookies carries the title as well, so other words have to be there.
    title = _words(entry.title)
    words = _words(entry.text) - title or title
    if len(words & _words(page.text)) < LEAST_SHARED * len(words):
        return None
    return replace(
        entry,
        text=page.text,
        marks=page.marks,
        summary=_CUT.sub("", entry.text).strip() or entry.text,
        language=entry.language or page.language,
        authors=entry.authors or page.authors,
        published_at=entry.published_at or page.published_at,
    )


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}


def _followed(entry: Document, digest: str, fetch: Fetch, parse: ParsePage) -> FollowedEntry:
    try:
        fetched = fetch(entry.url)
        pages = parse(entry.uri, fetched) if isinstance(fetched, Fetched) else ()
    except FetchError as error:
        logger.info("%s: the article was not fetched: %s", entry.uri, error.reason)
        # A refusal stays one; a server in trouble is asked again when the feed changes.
        final = 200 <= error.status < 500 and error.status not in (408, 425, 429)
        return FollowedEntry(document=entry, digest=digest if final else "", reason=error.reason)
    except SourceError as error:
        logger.info("%s: the article was not read: %s", entry.uri, error.reason)
        return FollowedEntry(document=entry, digest=digest, reason=error.reason)
    whole = merged(entry, pages[0]) if len(pages) == 1 else None
    if whole is None:
        reason = "its page holds no more of the article than the feed"
        return FollowedEntry(document=entry, digest=digest, reason=reason)
    return FollowedEntry(document=whole, digest=digest)
