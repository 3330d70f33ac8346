"""OPML: lists of feeds, as feed readers export them. A list is an input, not a document."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from urllib.parse import urljoin

from lxml import etree

from wellread.errors import SourceError
from wellread.ingest.loaders.front_matter import web_address
from wellread.ingest.loaders.xml_parts import name_of, parse

_BARE_AMPERSAND = re.compile(rb"&(?!#?\w{1,31};)")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedLink:
    """One feed of a list.

    Attributes:
        url: the feed's address (``xmlUrl``).
        html_url: the site that the feed is of.
        categories: the folders it stands in, outermost first, and its own categories.
    """

    url: str
    title: str = ""
    html_url: str = ""
    categories: tuple[str, ...] = ()


def feeds_of(data: bytes, uri: str) -> list[FeedLink]:
    """The feeds that an OPML file names, each address once, in the file's order.

    Addresses that are neither http nor https are left out, with a warning.

    Raises:
        SourceError: it is not OPML.
    """
    root = _root(data, uri)
    found: dict[str, FeedLink] = {}
    waiting: list[tuple[etree._Element, tuple[str, ...]]] = [(root, ())]
    while waiting:
        element, folders = waiting.pop()
        inside = folders
        if name_of(element).lower() == "outline":
            given = {name.lower(): value.strip() for name, value in _attributes(element)}
            title = " ".join((given.get("title") or given.get("text") or "").split())
            if address := given.get("xmlurl"):
                link = _link(given, title, folders, address, uri)
                if link:
                    found.setdefault(link.url, link)
            elif title:
                inside = (*folders, title)
        # The stack gives back the last first, so the children go in backwards.
        waiting += [(child, inside) for child in reversed(element)]
    return list(found.values())


def _root(data: bytes, uri: str) -> etree._Element:
    try:
        root = parse(data, uri)
    except SourceError as error:
        # Lists written by hand have addresses with a bare "&" in them.
        root = parse(_BARE_AMPERSAND.sub(b"&amp;", data), uri, repair=True)
        logger.warning("%s: the list is damaged (%s)", uri, error.reason)
    if name_of(root).lower() != "opml":
        raise SourceError(uri, f"not OPML: the root element is {name_of(root)[:40]}")
    return root


def _attributes(element: etree._Element) -> list[tuple[str, str]]:
    return [(str(name), str(value)) for name, value in element.attrib.items()]


def _link(
    given: dict[str, str], title: str, folders: tuple[str, ...], address: str, uri: str
) -> FeedLink | None:
    try:
        url = web_address(_web(urljoin(uri, address) if web_address(uri) else address))
    except ValueError:  # a host in brackets that is none
        url = ""
    if not url:
        logger.warning("%s: not a web address: %.200s", uri, address)
        return None
    return FeedLink(
        url=url,
        title=title,
        html_url=web_address(given.get("htmlurl", "")),
        categories=tuple(dict.fromkeys([*folders, *_categories(given.get("category", ""))])),
    )


def _web(address: str) -> str:
    """The address behind ``feed:``, which browsers once used for subscribing."""
    for scheme in ("feed://", "feed:"):
        if address.lower().startswith(scheme):
            rest = address[len(scheme) :]
            return rest if "://" in rest else f"https://{rest}"
    return address


def _categories(value: str) -> list[str]:
    """``/News/Ports,/Sea`` names two categories by path, ``tide`` one without."""
    parts = [part.strip() for path in value.split(",") for part in path.split("/")]
    return [part for part in parts if part]
