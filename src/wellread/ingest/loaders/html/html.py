"""HTML pages, and markup inside feeds and Markdown.

A page's main text is chosen in ``html_main``, its facts are read in ``html_facts``. Where there is
no main text, everything visible outside navigation is taken, and ``source_type`` says so
(``html-full``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import lxml.html
from charset_normalizer import from_bytes
from lxml.etree import LxmlError, _Element

from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.loaders.front_matter import web_address
from wellread.ingest.loaders.html.html_blocks import blocks_of, write_blocks
from wellread.ingest.loaders.html.html_facts import best_title, page_facts
from wellread.ingest.loaders.html.html_main import main_blocks, visible_blocks
from wellread.ingest.loaders.plain import Blocks, require_text, title_from_name
from wellread.types import Document, Kind

HEAD_BYTES = 4096

_DECLARED = re.compile(
    rb"""(?:<meta[^>]{0,200}?charset|<\?xml[^>]{0,200}?encoding)\s*=\s*["']?([\w.:-]{2,40})""", re.I
)


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:  # noqa: ARG001 the seam's
    """One page, or one article when the page says that it is one and when it was published."""
    tree = _parse(decode(source), source.uri)
    facts = page_facts(tree)
    every = blocks_of(tree)
    title = best_title(facts, every)
    chosen = main_blocks(tree, every, (title, *facts.titles), article=facts.article)
    source_type = "html" if chosen else "html-full"
    blocks = Blocks()
    write_blocks(blocks, chosen or visible_blocks(every))
    text, marks = blocks.build()
    require_text(source, text)
    kind: Kind = "article" if facts.published_at and facts.article else "page"
    yield Document(
        collection=source.collection,
        uri=source.uri,
        kind=kind,
        title=title or title_from_name(source.name),
        text=text,
        marks=marks,
        # The source's own address on the web, else the canonical one that the page names.
        url=web_address(source.uri) or facts.url,
        source_type=source_type,
        language=facts.language,
        authors=facts.authors,
        published_at=facts.published_at,
        summary=facts.description,
    )


def decode(source: Source) -> str:
    """The page as text: by byte order mark, UTF-8, the declared charset, or detection.

    Raises:
        SourceError: none of them fits.
    """
    data = source.data
    declared = _DECLARED.search(data[:HEAD_BYTES])
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        names = ["utf-16"]
    else:
        names = ["utf-8-sig", *([declared.group(1).decode("ascii")] if declared else [])]
    for name in names:
        try:
            return data.decode(name)
        except (UnicodeDecodeError, LookupError):  # LookupError: a charset that nobody knows
            continue
    best = from_bytes(data).best()
    if best is None:
        raise SourceError(source.uri, "not UTF-8, and no other encoding fits")
    return str(best)


def fragment_blocks(blocks: Blocks, markup: str) -> None:
    """Write a piece of HTML that is no page of its own (an entry of a feed)."""
    if markup.strip():
        tree = lxml.html.fragment_fromstring(_without_controls(markup), create_parent="div")
        write_blocks(blocks, blocks_of(tree))


def markup_text(markup: str) -> str:
    """The visible text of a piece of HTML."""
    blocks = Blocks()
    fragment_blocks(blocks, markup)
    return blocks.build()[0]


def _without_controls(markup: str) -> str:
    """lxml refuses NUL and other control characters."""
    return re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", " ", markup)


def _parse(html: str, uri: str) -> _Element:
    # A declared encoding in a text that is decoded already makes lxml refuse it.
    try:
        return lxml.html.document_fromstring(
            _without_controls(html).encode(), parser=lxml.html.HTMLParser(encoding="utf-8")
        )
    except (LxmlError, ValueError) as error:
        raise SourceError(uri, f"not HTML: {error}") from error
