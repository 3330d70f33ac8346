"""HTML pages, and markup inside feeds and Markdown.

A page's main text is chosen in ``html_main``. Where there is none, everything visible outside
navigation is taken, and ``source_type`` says so (``html-full``).

Of its title, authors, date, address and language, what the markup declares counts first (JSON-LD
of schema.org, OpenGraph, ``meta``, ``time``, ``rel=author``), since it is exact; what it does not
declare is left to trafilatura's search.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import lxml.html
from lxml.etree import LxmlError, _Element

from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.loaders.front_matter import moment, web_address
from wellread.ingest.loaders.html.html_blocks import Block, blocks_of, write_blocks
from wellread.ingest.loaders.html.html_decoding import decode, without_controls
from wellread.ingest.loaders.html.html_elements import tag_of, visible_text
from wellread.ingest.loaders.html.html_hidden import mark_hidden
from wellread.ingest.loaders.html.html_main import main_blocks, visible_blocks
from wellread.ingest.loaders.plain import Blocks, bare, title_from_name
from wellread.types import Document

AUTHOR_CHARACTERS = 80  # of a name; longer ones are sentences
JSON_CHARACTERS = 500_000  # of all JSON-LD of a page

_ARTICLE = re.compile(r"(?:\w*Article|\w*Posting|Report|Review|ScholarlyArticle)$")
_TITLE_NAMES = ("og:title", "twitter:title", "dc.title", "citation_title")
_AUTHOR_NAMES = ("author", "article:author", "dc.creator", "citation_author", "parsely-author")
_DATE_NAMES = (
    "article:published_time og:article:published_time datepublished date pubdate publishdate "
    "publish-date dc.date dc.date.issued dcterms.date citation_publication_date sailthru.date "
    "parsely-pub-date"
).split()
_NO_NAME = re.compile(r"(?:admin\w*|administrator|user|editor|staff|webmaster|guest)$", re.I)
_BY = re.compile(r"^(?:by|von|par|por|di|door|av|texte?|text)[:\s]\s*", re.I)
_MARKUP = re.compile(r"<[^<>]{1,200}>")
MARKUP = re.compile(r"<[A-Za-z/!]|&(?:#\d+|#x[0-9a-f]+|\w+);", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFacts:
    """The facts of one page.

    Attributes:
        titles: every title that the page declares, the best first.
        article: whether the page declares that it is an article.
    """

    titles: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    published_at: datetime | None = None
    description: str = ""
    url: str = ""
    language: str = ""
    article: bool = False


def page_facts(tree: _Element) -> PageFacts:
    """The facts of the page ``tree``."""
    from trafilatura.metadata import extract_metadata  # noqa: PLC0415 - slow to import

    meta = _meta(tree)
    nodes = list(_nodes(tree))
    articles = [node for node in nodes if _is_article(node)]
    searched = extract_metadata(tree)
    titles = [
        *(_words(node.get("headline")) for node in articles),
        *(value for name in _TITLE_NAMES for value in meta.get(name, ())),
        *(
            visible_text(one).strip()
            for one in tree.iter("title")
            if not any(tag_of(outer) == "svg" for outer in one.iterancestors())
        ),
        _words(searched.title),
    ]
    dates = [
        *(_words(node.get("datePublished")) for node in articles),
        *(value for name in _DATE_NAMES for value in meta.get(name, ())),
        *_times(tree),
        _words(searched.date),
    ]
    known = {str(node["@id"]): node for node in nodes if "@id" in node and "name" in node}
    return PageFacts(
        titles=tuple(dict.fromkeys(one for one in titles if one)),
        authors=_authors(articles, known, meta, searched.author or "", tree),
        published_at=next((found for one in dates if (found := moment(one))), None),
        description=next(iter(meta.get("description", ())), "") or _words(searched.description),
        url=_address(tree, meta, searched.url or ""),
        language=_language(tree, meta),
        article=bool(articles) or any(one.startswith("article") for one in meta.get("og:type", ())),
    )


def best_title(facts: PageFacts, blocks: Sequence[Block]) -> str:
    """The page's first heading when a declared title holds it, else the first declared title.

    Sites add their own name to the declared ones, and search engines get other words.
    """
    declared = [bare(title) for title in facts.titles]
    for block in blocks:
        if block.level == 1 and len(bare(block.text)) > 3:
            words = bare(block.text)
            if any(words in title and 2 * len(words) >= len(title) for title in declared):
                return block.text
    return facts.titles[0] if facts.titles else ""


def _meta(tree: _Element) -> dict[str, list[str]]:
    """Name, property or itemprop in lower case to the values, in order."""
    found: dict[str, list[str]] = {}
    for one in tree.iter("meta"):
        value = " ".join((one.get("content") or "").split())
        for attribute in ("property", "name", "itemprop"):
            name = (one.get(attribute) or "").strip().lower()
            if name and value:
                found.setdefault(name, []).append(value)
    return found


def _nodes(tree: _Element) -> Iterator[Mapping[str, object]]:
    """Every object of the page's JSON-LD, outer ones first; a broken block gives none."""
    left = JSON_CHARACTERS
    for script in tree.iter("script"):
        if (script.get("type") or "").split(";")[0].strip().lower() != "application/ld+json":
            continue
        text = re.sub(r"^\s*(?:<!--|//<!\[CDATA\[)|(?:-->|//\]\]>)\s*$", "", script.text or "")
        left -= len(text)
        if left < 0:
            return
        try:
            yield from _objects(json.loads(text, strict=False))
        except (ValueError, RecursionError):
            continue


def _objects(value: object) -> Iterator[Mapping[str, object]]:
    waiting = [value]
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, dict):
            yield one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def _is_article(node: Mapping[str, object]) -> bool:
    return any(isinstance(one, str) and _ARTICLE.match(one) for one in _several(node.get("@type")))


def _authors(
    articles: Iterable[Mapping[str, object]],
    known: Mapping[str, Mapping[str, object]],
    meta: Mapping[str, Sequence[str]],
    searched: str,
    tree: _Element,
) -> tuple[str, ...]:
    """The names of the first source that has any."""
    marked = [one for one in tree.iter() if _marks_author(one)]
    sources: tuple[list[str], ...] = (
        [name for node in articles for name in _people(node.get("author"), known)],
        [value for name in _AUTHOR_NAMES for value in meta.get(name, ())],
        [visible_text(one) for one in marked],
        searched.split(";"),
    )
    found = ([name for text in source for name in _separate(text)] for source in sources)
    return tuple(dict.fromkeys(next(filter(None, found), ())))


def _people(value: object, known: Mapping[str, Mapping[str, object]]) -> Iterator[str]:
    for one in _several(value):
        if isinstance(one, dict):
            named = one if "name" in one else known.get(str(one.get("@id")), {})
            yield from (_words(name) for name in _several(named.get("name")))
        else:
            yield _words(one)


def _marks_author(element: _Element) -> bool:
    if tag_of(element) in ("", "meta", "link", "head"):
        return False
    related = (element.get("rel") or "").lower().split()
    return "author" in related or element.get("itemprop") == "author"


def _separate(text: str) -> Iterator[str]:
    """The names in one value; addresses, roles without a name and sentences are none."""
    plain = _BY.sub("", " ".join(_MARKUP.sub("", text).split()))
    if "://" in plain or "@" in plain:
        return
    for one in re.split(r"\s*[,;|]\s*(?:and\s+)?|\s+and\s+", plain):
        if 2 < len(one) <= AUTHOR_CHARACTERS and not _NO_NAME.match(one) and not one.isdigit():
            yield one


def _times(tree: _Element) -> list[str]:
    """The ``time`` elements that say when the page was published."""
    return [
        one.get("datetime") or visible_text(one).strip()
        for one in tree.iter("time")
        if "pubdate" in one.attrib or one.get("itemprop") == "datePublished"
    ]


def _address(tree: _Element, meta: Mapping[str, Sequence[str]], searched: str) -> str:
    linked = [
        one.get("href") or ""
        for one in tree.iter("link")
        if "canonical" in (one.get("rel") or "").lower().split()
    ]
    found = (*linked, *meta.get("og:url", ()), searched)
    return next((address for one in found if (address := web_address(one))), "")


def _language(tree: _Element, meta: Mapping[str, Sequence[str]]) -> str:
    root = next(tree.iter("html"), tree)
    given = (root.get("lang") or "", *meta.get("og:locale", ()), *meta.get("content-language", ()))
    names = (one.strip().replace("_", "-").lower() for one in given)
    return next((one for one in names if re.fullmatch(r"[a-z]{2,3}(?:-[\w-]{1,20})?", one)), "")


def _several(value: object) -> list[object]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _words(value: object) -> str:
    return " ".join(_MARKUP.sub("", value).split()) if isinstance(value, str) else ""


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:  # noqa: ARG001 the seam's
    """One page, or one article when the page says that it is one and when it was published."""
    tree = _parse(decode(source), source.uri)
    mark_hidden(tree)
    facts = page_facts(tree)
    every = blocks_of(tree)
    title = best_title(facts, every)
    chosen = main_blocks(tree, every, (title, *facts.titles), article=facts.article)
    blocks = Blocks()
    write_blocks(blocks, chosen or visible_blocks(every))
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
        tree = lxml.html.fragment_fromstring(without_controls(markup), create_parent="div")
        write_blocks(blocks, blocks_of(tree))


def page_blocks(blocks: Blocks, markup: str, uri: str) -> None:
    """Write what is seen of a whole page (a chapter of an e-book).

    Raises:
        SourceError: it is not HTML.
    """
    if markup.strip():
        tree = _parse(markup, uri)
        mark_hidden(tree)
        write_blocks(blocks, visible_blocks(blocks_of(tree)))


def markup_text(markup: str) -> str:
    """The visible text of a piece of HTML."""
    blocks = Blocks()
    fragment_blocks(blocks, markup)
    return blocks.build()[0]


def plain_words(value: str) -> str:
    """``value`` as plain text, where it may be a piece of HTML."""
    return markup_text(value) if MARKUP.search(value) else value.strip()


def _parse(html: str, uri: str) -> _Element:
    # A declared encoding in a text that is decoded already makes lxml refuse it.
    try:
        return lxml.html.document_fromstring(
            without_controls(html).encode(), parser=lxml.html.HTMLParser(encoding="utf-8")
        )
    except (LxmlError, ValueError) as error:
        raise SourceError(uri, f"not HTML: {error}") from error
