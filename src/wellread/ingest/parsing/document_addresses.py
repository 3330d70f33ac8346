"""What a source says its documents are called and open at; addresses that run code are dropped.

An entry of a feed may bear any id and link. One that is a program (``javascript:``, ``data:``)
would lie in wait for whoever clicks it, and one that is the address of a file of this machine
would take that file's place, since a document is known by its address.
"""

from __future__ import annotations

import re
from dataclasses import replace

from wellread.identity import tagged_hash
from wellread.types import Document

_UNSEEN = re.compile(r"[\x00-\x20\x7f-\xa0\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_RUNS = re.compile(r"(?:javascript|vbscript|livescript|data|blob|filesystem|view-source|about):")
_FILE = "file:"


def safe_addresses(document: Document, source_uri: str) -> Document:
    """The document without addresses that run something, under an id that is its source's own."""
    uri = document.uri
    bare = _bare(uri)
    theirs = bare.startswith(_FILE) and not uri.startswith(source_uri)
    if theirs or _RUNS.match(bare):
        uri = f"{source_uri}#{tagged_hash('adr', uri)}"
    return replace(
        document, uri=uri, url=_followed(document.url), media_url=_followed(document.media_url)
    )


def _bare(address: str) -> str:
    """An address as a browser reads its scheme: no white space in it, in small letters."""
    return _UNSEEN.sub("", address).casefold()


def _followed(address: str) -> str:
    return "" if _RUNS.match(_bare(address)) else address
