"""HTML pages, and markup inside feeds, Markdown and e-books.

trafilatura chooses the main text and finds title, authors, date and address. What it chose is
found again in the page, because every block carries a character of its own while it reads; so the
text is written from the page itself, with its headings, lists, tables and code. Where it finds
nothing, all that is seen outside navigation is taken, and ``source_type`` says so (``html-full``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime

import lxml.html
from lxml.etree import LxmlError, _Element

from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.loaders.front_matter import moment, web_address
from wellread.ingest.loaders.plain import Blocks, bare, decoded, title_from_name
from wellread.ingest.loaders.text.html_blocks import (
    Block,
    ancestors,
    blocks_of,
    heading_box,
    mark_hidden,
    tag_of,
    visible_text,
    write_blocks,
)
from wellread.types import Document

HOME_SHARE = 0.1  # of the chosen letters, that may stand outside the element around the text
LINK_SHARE = 0.9  # of a heading that is nothing but a link to another page
MARKUP = re.compile(r"<[A-Za-z/!]|&(?:#\d+|#x[0-9a-f]+|\w+);", re.IGNORECASE)

_ARTICLE = re.compile(r"article|posting|report", re.IGNORECASE)
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[\w-]{1,20})?")
# Characters that no page uses, one for each block (the supplementary private use areas).
_FIRST_MARK, _LAST_MARK = 0xF0000, 0x10FFFD
_MARKS = re.compile(f"[{chr(_FIRST_MARK)}-{chr(_LAST_MARK)}]")
# Words of class and id names of boxes around a text; class names are English everywhere.
_AROUND = re.compile(
    r"(?:^|[\s_-])(?:newsletters?|subscri(?:be|ption)|signup|sign-up|related|recirc|sharing|social|"
    r"promos?|comments|cookies?|adverts?|advertisement|breadcrumbs?|disqus|outbrain|taboola|"
    r"recommended|recommendations|trending|read-?more|most-read)(?:[\s_-]|$)",
    re.IGNORECASE,
)
_FURNITURE = re.compile(
    r"(?:^|[\s_-])(?:foot(?:er)?|nav(?:bar|igation)?|sidebar|menu)(?:[\s_-]|$)", re.IGNORECASE
)
_AROUND_TAGS = frozenset("nav footer dialog".split())
_AROUND_ROLES = frozenset("navigation contentinfo search dialog banner".split())
_REFERENCE = re.compile(r"&#([xX][0-9a-fA-F]{1,9}|[0-9]{1,9});?")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
DECLARED = re.compile(
    rb"""(?:<meta[^>]{0,200}?charset|<\?xml[^>]{0,200}?encoding)\s*=\s*["']?([\w.:-]{2,40})""", re.I
)


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:  # noqa: ARG001 the seam's
    """One page, or one article when the page says that it is one and when it was published."""
    tree = _parse(decoded(source, DECLARED)[0], source.uri)
    mark_hidden(tree)
    facts = _facts(tree)
    every = blocks_of(tree)
    title = _title(facts, every)
    chosen = _main_blocks(tree, every, (title, *facts.titles), article=facts.article)
    blocks = Blocks()
    write_blocks(blocks, chosen or _visible_blocks(every))
    yield source.document(
        blocks.build(),
        kind="article" if facts.published_at and facts.article else "page",
        title=title or title_from_name(source.name),
        # The source's own address on the web, else the canonical one that the page names.
        url=web_address(source.uri) or facts.url,
        source_type="html" if chosen else "html-full",
        language=facts.language,
        authors=facts.authors,
        published_at=facts.published_at,
        summary=facts.description,
    )


def fragment_blocks(blocks: Blocks, markup: str) -> None:
    """Write a piece of HTML that is no page of its own (an entry of a feed)."""
    if markup.strip():
        tree = lxml.html.fragment_fromstring(_without_controls(markup), create_parent="div")
        write_blocks(blocks, blocks_of(tree))


def page_blocks(blocks: Blocks, markup: str, uri: str) -> None:
    """Write what is seen of a whole page (a chapter of an e-book)."""
    if markup.strip():
        tree = _parse(markup, uri)
        mark_hidden(tree)
        write_blocks(blocks, _visible_blocks(blocks_of(tree)))


def markup_text(markup: str) -> str:
    """The visible text of a piece of HTML."""
    blocks = Blocks()
    fragment_blocks(blocks, markup)
    return blocks.build()[0]


def plain_words(value: str) -> str:
    """``value`` as plain text, where it may be a piece of HTML."""
    return markup_text(value) if MARKUP.search(value) else value.strip()


# --- facts of a page -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """What a page says of itself; ``titles``: the best first."""

    titles: tuple[str, ...]
    authors: tuple[str, ...]
    published_at: datetime | None
    description: str
    url: str
    language: str
    article: bool


def _facts(tree: _Element) -> _Facts:
    from trafilatura.metadata import extract_metadata  # noqa: PLC0415 - slow to import

    # Not the extensive search for a date: it takes the year beside a copyright sign for one.
    dates = {
        "original_date": True,
        "extensive_search": False,
        "outputformat": "%Y-%m-%dT%H:%M:%S%z",
    }
    found = extract_metadata(tree, date_config=dates)
    declared = (
        visible_text(one).strip()
        for one in tree.iter("title")
        if not any(tag_of(outer) == "svg" for outer in one.iterancestors())
    )
    language = next(tree.iter("html"), tree).get("lang") or ""
    language = language.strip().replace("_", "-").lower()
    return _Facts(
        titles=tuple(dict.fromkeys(one for one in (found.title or "", *declared) if one)),
        authors=tuple(dict.fromkeys(filter(None, (found.author or "").split("; ")))),
        published_at=moment(found.date),
        description=found.description or "",
        url=web_address(found.url or ""),
        language=language if _LANGUAGE.fullmatch(language) else "",
        article=bool(_ARTICLE.search(found.pagetype or "")),
    )


def _title(facts: _Facts, blocks: Sequence[Block]) -> str:
    """The page's first heading when a declared title holds it, else the first declared title.

    Sites add their own name to the declared ones, and search engines get other words.
    """
    headings = (block for block in blocks if block.level == 1)
    shown = next((block.text for block in headings if _is_title(block, facts.titles)), "")
    return shown or next(iter(facts.titles), "")


def _is_title(heading: Block, titles: Iterable[str]) -> bool:
    words = bare(heading.text)
    declared = map(bare, titles)
    return len(words) > 3 and any(words in one and 2 * len(words) >= len(one) for one in declared)


# --- main text -------------------------------------------------------------------------------


def _main_blocks(
    tree: _Element, blocks: Sequence[Block], titles: Sequence[str], *, article: bool
) -> list[Block]:
    """The blocks of the main text with their headings, in order; empty when none is found.

    Args:
        tree: the page, from which ``blocks`` were read. Its texts are marked and not restored.
        titles: the page's title and its variants, by which its first heading is known.
        article: whether the page is one; then a heading that is a link is none of its own.
    """
    chosen = _chosen(tree, blocks)
    root = _common(chosen)
    if root is None:
        return []
    headings = _headings(blocks, root, titles, links_too=not article)
    kept: list[Block] = []  # from the end of the page upwards
    for block in reversed(blocks):
        if block in chosen or (block in headings and _covers(block, kept)):
            kept.append(block)
    return kept[::-1]


def _visible_blocks(blocks: Sequence[Block]) -> list[Block]:
    """All blocks outside navigation and footers; all when nothing else is there."""
    inside = [
        block
        for block in blocks
        if not _around(block.element, set())
        and not any(_FURNITURE.search(_names(one)) for one in ancestors(block.element))
    ]
    return inside if any(not block.level for block in inside) else list(blocks)


def _chosen(tree: _Element, blocks: Sequence[Block]) -> set[Block]:
    """What trafilatura takes for the main text, headings aside."""
    from trafilatura import bare_extraction  # noqa: PLC0415 - slow to import
    from trafilatura.settings import Document as Extracted  # noqa: PLC0415

    nodes = [(block, node) for block in blocks for node in block.nodes]
    marked: dict[str, Block] = {}
    for code, (block, node) in zip(range(_FIRST_MARK, _LAST_MARK + 1), nodes, strict=False):
        marked[chr(code)] = block
        node.prefix(chr(code))
    found = bare_extraction(deepcopy(tree), include_comments=False, include_links=False)
    if not isinstance(found, Extracted) or found.body is None:
        return set()
    text = "".join(str(piece) for piece in found.body.itertext())
    taken = {marked[mark] for mark in _MARKS.findall(text) if mark in marked}
    return {block for block in taken if not block.level}


def _common(chosen: Iterable[Block]) -> _Element | None:
    """The innermost element around nearly all letters of ``chosen`` (strays do not count)."""
    weights: Counter[_Element] = Counter()
    for block in chosen:
        for one in ancestors(block.element):
            weights[one] += block.letters
    most = max(weights.values(), default=0)
    around = [one for one, weight in weights.items() if weight >= (1 - HOME_SHARE) * most]
    return max(around, key=lambda one: sum(1 for _ in one.iterancestors()), default=None)


def _around(element: _Element, above: set[_Element]) -> bool:
    """Whether the element stands in a box that is no part of the text; ``above`` is no such box."""
    for one in ancestors(element):
        if one in above or tag_of(one) in ("body", "html"):
            return False
        role = (one.get("role") or "").lower()
        if tag_of(one) in _AROUND_TAGS or role in _AROUND_ROLES or _AROUND.search(_names(one)):
            return True
    return False


def _names(element: _Element) -> str:
    """Class and id; a modifier after two hyphens says how a thing looks, not what it is."""
    return re.sub(r"--\S+", "", f"{element.get('class') or ''} {element.get('id') or ''}")


def _headings(
    blocks: Sequence[Block], root: _Element, titles: Sequence[str], *, links_too: bool
) -> set[Block]:
    """The headings of the text, and not of what stands around it.

    Args:
        links_too: whether a heading that is a link may be one (in a list of entries).
    """
    above = set(ancestors(root))
    first = [block for block in blocks if block.level == 1]
    found: set[Block] = set()
    for block in (one for one in blocks if one.level):
        inside = root in ancestors(block.element)
        fits = (inside and (links_too or block.linked < LINK_SHARE)) or first == [block]
        if _is_title(block, titles) or (fits and not _around(block.element, above)):
            found.add(block)
    return found


def _covers(heading: Block, kept: Sequence[Block]) -> bool:
    """Whether a block that follows (the nearest is the last of ``kept``) is under ``heading``."""
    box = heading_box(heading)
    for block in reversed(kept):
        if block.level and block.level <= heading.level:
            return False
        if not block.level:
            return box is None or box in ancestors(block.element)
        if bare(block.text) == bare(heading.text):
            return False  # said twice
    return False


# --- from bytes to a tree --------------------------------------------------------------------


def _without_controls(markup: str) -> str:
    """lxml refuses NUL and other control characters, as they are and as references (``&#1;``)."""
    return _CONTROLS.sub(" ", _REFERENCE.sub(_referenced, markup))


def _referenced(found: re.Match[str]) -> str:
    """A reference as browsers read it: 0x80 to 0x9f are Windows-1252; a control is a space."""
    digits = found.group(1)
    code = int(digits[1:], 16) if digits[0] in "xX" else int(digits)
    if 0x80 <= code < 0xA0:
        return bytes([code]).decode("cp1252", errors="replace")
    letter = code in (9, 10, 13) or 0x20 <= code < 0x7F or 0xA0 <= code < 0xD800
    letter = letter or 0xE000 <= code < 0xFFFE or 0x10000 <= code < 0x110000
    return found.group() if letter else " "


def _parse(html: str, uri: str) -> _Element:
    # A declared encoding in a text that is decoded already makes lxml refuse it.
    try:
        return lxml.html.document_fromstring(
            _without_controls(html).encode(), parser=lxml.html.HTMLParser(encoding="utf-8")
        )
    except (LxmlError, ValueError) as error:
        raise SourceError(uri, f"not HTML: {error}") from error
