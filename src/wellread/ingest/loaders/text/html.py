"""The loader of HTML pages, also used for markup in feeds, Markdown and e-books.

trafilatura extracts the main text, title, authors, date and address. Each block is marked with a
unique character before the extraction, so that the chosen blocks are found again in the page and
written with headings, lists, tables and code. If nothing is extracted, all visible text outside
navigation is used, with ``source_type`` ``html-full``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import lxml.html
from lxml.etree import LxmlError, _Element

from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.loaders.front_matter import (
    FrontMatter,
    authors,
    date_of,
    is_post,
    parse_moment,
    split,
    web_address,
)
from wellread.ingest.loaders.plain import Blocks, decode, letters_of, title_from_name
from wellread.ingest.loaders.text.html_blocks import Block, blocks_of, heading_box, write_blocks
from wellread.ingest.loaders.text.html_visible import (
    FEW_CHARS,
    MAX_HIDDEN_SHARE,
    all_text,
    ancestors,
    mark_hidden,
    open_panels,
    tag_of,
    visible_text,
)
from wellread.types import Document

MAX_OUTSIDE_SHARE = 0.1  # share of the chosen letters that may be outside the common element
MIN_LINK_SHARE = 0.9  # share of a heading from which it counts as a link to another page
MARKUP = re.compile(r"<[A-Za-z/!]|&(?:#\d+|#x[0-9a-f]+|\w+);", re.IGNORECASE)

MAX_DATELINE_WORDS = 15  # a longer text is prose, whose dates are those of what it tells
_PROSE_TAGS = ("p", "div", "footer", "li", "td", "dd", "blockquote", "small", "span")
_COPYRIGHT = re.compile(r"©|\bcopyright\b|\(c\)\s*\d", re.IGNORECASE)
_ARTICLE = re.compile(r"article|posting|report", re.IGNORECASE)
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[\w-]{1,20})?")
# Private use characters that no page contains, one for each block.
_FIRST_MARK, _LAST_MARK = 0xF0000, 0x10FFFD
_MARKS = re.compile(f"[{chr(_FIRST_MARK)}-{chr(_LAST_MARK)}]")
# Words in class and id names of boxes around the main text; class names are usually English.
_BESIDE = re.compile(
    r"(?:^|[\s_-])(?:newsletters?|subscri(?:be|ption)|signup|sign-up|related|recirc|sharing|social|"
    r"promos?|comments|cookies?|adverts?|advertisement|breadcrumbs?|disqus|outbrain|taboola|"
    r"recommended|recommendations|trending|read-?more|most-read)(?:[\s_-]|$)",
    re.IGNORECASE,
)
_FURNITURE = re.compile(
    r"(?:^|[\s_-])(?:foot(?:er)?|nav(?:bar|igation)?|sidebar|menu)(?:[\s_-]|$)", re.IGNORECASE
)
_HEAD_TAGS = frozenset("base link meta noscript script style template title object".split())
_BESIDE_TAGS = frozenset("nav footer dialog".split())
_BESIDE_ROLES = frozenset("navigation contentinfo search dialog banner".split())
_REFERENCE = re.compile(r"&#([xX][0-9a-fA-F]{1,9}|[0-9]{1,9});?")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
ENCODING = re.compile(
    rb"""(?:<meta[^>]{0,200}?charset|<\?xml[^>]{0,200}?encoding)\s*=\s*["']?([\w.:-]{2,40})""", re.I
)


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:  # noqa: ARG001 the loader interface
    """Load an HTML file as one page, or as one article if it declares this and its date."""
    markup = decode(source, ENCODING)
    matter = split(markup, source) if markup.lstrip()[:3] in ("---", "+++") else None
    tree = _parse(matter.body if matter else markup, source.uri)
    open_panels(tree)
    mark_hidden(tree)
    facts = _without_export(tree, _facts(tree))
    facts = _with_front_matter(facts, matter, source) if matter else facts
    all_blocks = blocks_of(tree)
    title = _title(facts, all_blocks)
    chosen = _main_blocks(tree, all_blocks, (title, *facts.titles), article=facts.article)
    blocks = Blocks()
    write_blocks(blocks, chosen or _visible_blocks(all_blocks))
    letters, shown = len(letters_of(all_text(tree))), len(letters_of(visible_text(tree)))
    if letters - shown > max(FEW_CHARS, MAX_HIDDEN_SHARE * letters):
        source.remark(
            f"{(letters - shown) / letters:.0%} of the page's text is hidden and left out"
        )
    yield source.document(
        blocks.build(),
        kind="article" if facts.published_at and facts.article else "page",
        title=title or title_from_name(source.name),
        # The address of a web source, else the canonical address in the page.
        url=web_address(source.uri) or facts.url,
        source_type="html" if chosen else "html-full",
        language=facts.language,
        authors=facts.authors,
        published_at=facts.published_at,
        summary=facts.description,
        taxonomy={"breadcrumbs": facts.breadcrumbs} if facts.breadcrumbs else {},
    )


def fragment_blocks(blocks: Blocks, markup: str) -> None:
    """Write the visible blocks of an HTML fragment (such as an entry of a feed)."""
    if markup.strip():
        tree = lxml.html.fragment_fromstring(_without_controls(markup), create_parent="div")
        write_blocks(blocks, blocks_of(tree))


def page_blocks(blocks: Blocks, markup: str, uri: str) -> None:
    """Write the visible blocks of an entire page (such as a chapter of an e-book)."""
    if markup.strip():
        tree = _parse(markup, uri)
        mark_hidden(tree)
        write_blocks(blocks, _visible_blocks(blocks_of(tree)))


def markup_text(markup: str) -> str:
    """Return the visible text of an HTML fragment."""
    blocks = Blocks()
    fragment_blocks(blocks, markup)
    return blocks.build()[0]


def plain_words(value: str) -> str:
    """``value`` as plain text, with any HTML removed."""
    return markup_text(value) if MARKUP.search(value) else value.strip()


# --- facts of a page -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """The metadata of a page; ``titles`` has the best first."""

    titles: tuple[str, ...]
    authors: tuple[str, ...]
    published_at: datetime | None
    description: str
    url: str
    language: str
    article: bool
    breadcrumbs: tuple[str, ...] = ()


def _facts(tree: _Element) -> _Facts:
    from trafilatura.metadata import extract_metadata  # noqa: PLC0415 - slow to import

    # The extensive search would take the year of a copyright notice for the date.
    dates = {
        "original_date": True,
        "extensive_search": False,
        "outputformat": "%Y-%m-%dT%H:%M:%S%z",
    }
    metadata = extract_metadata(tree, date_config=dates)
    published_at = parse_moment(metadata.date)
    if published_at:  # once more without sentences
        metadata_of_lines = extract_metadata(_without_prose(tree), date_config=dates)
        published_at = parse_moment(metadata_of_lines.date)
    declared_titles = (
        visible_text(title).strip()
        for title in tree.iter("title")
        if not any(tag_of(outer) == "svg" for outer in title.iterancestors())
    )
    language = next(tree.iter("html"), tree).get("lang") or ""
    language = language.strip().replace("_", "-").lower()
    return _Facts(
        titles=tuple(dict.fromkeys(filter(None, (metadata.title or "", *declared_titles)))),
        authors=tuple(dict.fromkeys(filter(None, (metadata.author or "").split("; ")))),
        published_at=published_at,
        description=metadata.description or "",
        url=web_address(metadata.url or ""),
        language=language if _LANGUAGE.fullmatch(language) else "",
        article=bool(_ARTICLE.search(metadata.pagetype or "")),
    )


def _without_export(tree: Any, facts: _Facts) -> _Facts:
    """Remove what Confluence's export puts around a page, and return the facts that stand in it.

    Its footer has the day of the export, which is no date of the page.
    """
    if not tree.xpath("//*[@id='main-content' and contains(@class, 'wiki-content')]"):
        return facts
    crumbs = [visible_text(crumb).strip() for crumb in tree.xpath("//*[@id='breadcrumbs']//li")]
    changed = [visible_text(part).split() for part in tree.xpath("//*[@class='page-metadata']")]
    for part in tree.xpath(
        "//*[@id='main-header' or @id='footer' or contains(@class, 'pageSection ')"
        " or @class='page-metadata']"
    ):
        part.drop_tree()
    return replace(
        facts,
        titles=tuple(title.removeprefix(f"{''.join(crumbs[:1])} : ") for title in facts.titles),
        published_at=parse_moment(" ".join(changed[0][-3:])) if changed else None,
        breadcrumbs=tuple(filter(None, crumbs)),
    )


def _with_front_matter(facts: _Facts, matter: FrontMatter, source: Source) -> _Facts:
    """What the front matter of a page says goes before what its markup says."""
    title = matter.text_of("title")
    return replace(
        facts,
        titles=(title, *facts.titles) if title else facts.titles,
        authors=authors(matter.fields.get("authors"), matter.fields.get("author")) or facts.authors,
        published_at=date_of(matter, source.name) or facts.published_at,
        description=matter.text_of("summary", "excerpt", "description") or facts.description,
        article=is_post(matter, source.uri) or facts.article,
    )


def _without_prose(tree: _Element) -> _Element:
    """A copy of the page without sentences and copyright notices, whose dates are others."""
    page = deepcopy(tree)
    for element in list(page.iter(*_PROSE_TAGS)):
        if element.xpath("boolean(.//p|.//div|.//li)"):
            continue
        text = " ".join(all_text(element).split())
        words = len(text.split())
        is_prose = words > MAX_DATELINE_WORDS or (words > 5 and text.endswith((".", "!", "?")))
        if is_prose or _COPYRIGHT.search(text):
            tail = element.tail
            element.clear()
            element.tail = tail
    return page


def _title(facts: _Facts, blocks: Sequence[Block]) -> str:
    """Return the first heading that a declared title contains, else the first declared title.

    Declared titles often contain the site's name or are worded for search engines.
    """
    headings = (block for block in blocks if block.level == 1)
    heading = next((block.text for block in headings if _is_title(block, facts.titles)), "")
    return heading or next(iter(facts.titles), "")


def _is_title(heading: Block, titles: Iterable[str]) -> bool:
    name = letters_of(heading.text)
    declared = map(letters_of, titles)
    return len(name) > 3 and any(name in part and 2 * len(name) >= len(part) for part in declared)


# --- main text -------------------------------------------------------------------------------


def _main_blocks(
    tree: _Element, blocks: Sequence[Block], titles: Sequence[str], *, article: bool
) -> list[Block]:
    """Return the blocks of the main text with their headings, in order; none if nothing is found.

    Args:
        tree: the page with the ``blocks``. Its text nodes are marked and not restored.
        titles: the page's title and variants, which identify its first heading.
        article: whether the page is an article, whose headings are not links.
    """
    chosen = _extract(tree, blocks)
    root = _common_element(chosen)
    if root is None:
        return []
    headings = _headings(blocks, root, titles, include_links=not article)
    selected: list[Block] = []  # from the end of the page to the start
    for block in reversed(blocks):
        if block in chosen or (block in headings and _heads_selected(block, selected)):
            selected.append(block)
    return selected[::-1]


def _visible_blocks(blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks outside navigation and footers, or all blocks if there are no such."""
    main_blocks = [
        block
        for block in blocks
        if not _is_beside(block.element, set())
        and not any(_FURNITURE.search(_class_and_id(box)) for box in ancestors(block.element))
    ]
    return main_blocks if any(not block.level for block in main_blocks) else list(blocks)


def _extract(tree: _Element, blocks: Sequence[Block]) -> set[Block]:
    from trafilatura import bare_extraction  # noqa: PLC0415 - slow to import
    from trafilatura.settings import Document as Extracted  # noqa: PLC0415

    nodes = [(block, node) for block in blocks for node in block.nodes]
    marked: dict[str, Block] = {}
    for code, (block, node) in zip(range(_FIRST_MARK, _LAST_MARK + 1), nodes, strict=False):
        marked[chr(code)] = block
        node.prefix(chr(code))
    extracted = bare_extraction(deepcopy(tree), include_comments=False, include_links=False)
    if not isinstance(extracted, Extracted) or extracted.body is None:
        return set()
    text = "".join(str(piece) for piece in extracted.body.itertext())
    chosen = {marked[mark] for mark in _MARKS.findall(text) if mark in marked}
    return {block for block in chosen if not block.level}


def _common_element(chosen: Iterable[Block]) -> _Element | None:
    """Return the innermost element that contains nearly all letters of ``chosen``."""
    weights: Counter[_Element] = Counter()
    for block in chosen:
        for node in ancestors(block.element):
            weights[node] += block.letters
    total = max(weights.values(), default=0)
    nearly = [node for node, weight in weights.items() if weight >= (1 - MAX_OUTSIDE_SHARE) * total]
    return max(nearly, key=lambda node: sum(1 for _ in node.iterancestors()), default=None)


def _is_beside(element: _Element, above: set[_Element]) -> bool:
    """Whether the element is in a box beside the main text; boxes in ``above`` do not count."""
    for box in ancestors(element):
        if box in above or tag_of(box) in ("body", "html"):
            return False
        role = (box.get("role") or "").lower()
        if (
            tag_of(box) in _BESIDE_TAGS
            or role in _BESIDE_ROLES
            or _BESIDE.search(_class_and_id(box))
        ):
            return True
    return False


def _class_and_id(element: _Element) -> str:
    """Return class and id, without modifiers after two hyphens, which only describe the look."""
    return re.sub(r"--\S+", "", f"{element.get('class') or ''} {element.get('id') or ''}")


def _headings(
    blocks: Sequence[Block], root: _Element, titles: Sequence[str], *, include_links: bool
) -> set[Block]:
    """Return the headings of the main text, without those of boxes around it.

    Args:
        include_links: whether links may be headings (as in a list of entries).
    """
    above = set(ancestors(root))
    top = [block for block in blocks if block.level == 1]
    headings: set[Block] = set()
    for block in (heading for heading in blocks if heading.level):
        is_inside = root in ancestors(block.element)
        fits = (is_inside and (include_links or block.linked < MIN_LINK_SHARE)) or top == [block]
        if _is_title(block, titles) or (fits and not _is_beside(block.element, above)):
            headings.add(block)
    return headings


def _heads_selected(heading: Block, selected: Sequence[Block]) -> bool:
    """Whether a following block is under ``heading``; ``selected`` has the nearest block last."""
    box = heading_box(heading)
    for block in reversed(selected):
        if block.level and block.level <= heading.level:
            return False
        if not block.level:
            return box is None or box in ancestors(block.element)
        if letters_of(block.text) == letters_of(heading.text):
            return False  # a repeated heading
    return False


# --- from bytes to a tree --------------------------------------------------------------------


def _without_controls(markup: str) -> str:
    """Replace control characters and their references (``&#1;``), which lxml refuses."""
    return _CONTROLS.sub(" ", _REFERENCE.sub(_decode_reference, markup))


def _decode_reference(match: re.Match[str]) -> str:
    """Decode a reference as browsers do: 0x80-0x9f as Windows-1252, controls as a space."""
    digits = match.group(1)
    code = int(digits[1:], 16) if digits[0] in "xX" else int(digits)
    if 0x80 <= code < 0xA0:
        return bytes([code]).decode("cp1252", errors="replace")
    letter = code in (9, 10, 13) or 0x20 <= code < 0x7F or 0xA0 <= code < 0xD800
    letter = letter or 0xE000 <= code < 0xFFFE or 0x10000 <= code < 0x110000
    return match.group() if letter else " "


def _parse(html: str, uri: str) -> _Element:
    # lxml refuses decoded text with an encoding declaration.
    try:
        tree = lxml.html.document_fromstring(
            _without_controls(html).encode(), parser=lxml.html.HTMLParser(encoding="utf-8")
        )
    except (LxmlError, ValueError) as error:
        raise SourceError(uri, f"not HTML: {error}") from error
    # Tags of head and body may be left out; libxml2 then leaves a <main> in the head.
    head, body = tree.find("head"), tree.find("body")
    moved = [part for part in ([] if head is None else head) if tag_of(part) not in _HEAD_TAGS]
    if moved:
        body = lxml.html.Element("body") if body is None else body
        tree.append(body)
        body[:0] = moved
    return tree
