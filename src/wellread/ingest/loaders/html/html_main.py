"""Which blocks of a page are its main text.

trafilatura chooses; what it chose is found again in the page, because every block carries a
character of its own while trafilatura reads. Then the page's structure corrects the choice:
prose that stands in the same container as chosen prose comes back, and so do the headings over
it; boxes that invite to subscribe or share go, and in an article links that interrupt it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from copy import deepcopy
from itertools import takewhile

from lxml.etree import _Element

from wellread.ingest.loaders.html.html_blocks import Block, heading_box
from wellread.ingest.loaders.html.html_elements import ancestors, tag_of
from wellread.ingest.loaders.plain import bare

PROSE_LETTERS = 40  # of a block that is a text of its own
PROSE_LINKED = 0.7  # at most this share of it is links
LEAD_LETTERS = 60  # of a first paragraph that stands above the body
HOME_SHARE = 0.1  # of the chosen letters, in a container whose other prose is main text as well
HOME_LETTERS = 200
LINK_SHARE = 0.9  # of a paragraph that is nothing but a link to another page
LINK_LABEL = 20  # letters before such a link ("Read more:")
LEAST_TEXT = 400  # letters without which single links are no interruption
NOTICE_CHARACTERS = 200
MOST_DROPPED = 0.3  # share of the chosen letters; a rule that would drop more is not trusted

# Characters that no page uses, one for each block (the supplementary private use areas).
_FIRST_MARK, _LAST_MARK = 0xF0000, 0x10FFFD
_MARKS = re.compile(f"[{chr(_FIRST_MARK)}-{chr(_LAST_MARK)}]")
# Words of class and id names of boxes around a text; class names are English everywhere.
_AROUND = re.compile(
    r"(?:^|[\s_-])(?:newsletters?|subscri(?:be|ption)|signup|sign-up|related|recirc|sharing|social|"
    r"promos?|comments|cookies?|adverts?|advertisement|breadcrumbs?|disqus|outbrain|taboola|"
    r"recommended|recommendations|trending|read-?more|most-read)(?:[\s_-]|$)",
    re.I,
)
# ... of those around a page's only content, ...
_FURNITURE = re.compile(
    r"(?:^|[\s_-])(?:foot(?:er)?|nav(?:bar|igation)?|sidebar|menu)(?:[\s_-]|$)", re.I
)
# ... and of those that belong to a picture or a video.
_CAPTION = re.compile(
    r"(?:^|[\s_-])(?:captions?|credits?|bylines?|media|video|image|photo|gallery|player|author|bio)"
    r"(?:[\s_-]|$)",
    re.I,
)
_NOTICE = re.compile(r"\W*(?:©|\(c\)|copyright\b|all rights reserved)", re.I)
_ADDRESS = re.compile(r"www\.|://")
_AROUND_TAGS = frozenset("nav footer dialog".split())
_AROUND_ROLES = frozenset("navigation contentinfo search dialog banner".split())
_BESIDE_TAGS = _AROUND_TAGS | frozenset("aside figure figcaption form".split())
# Elements of a text; what they stand in is their container.
_PARTS = frozenset("p li dd dt pre td th tr tbody thead ul ol menu dl blockquote center".split())
_SENTENCE_END = re.compile(r"[.!?。！？…][\"'”’»)\]]*$")


def main_blocks(
    tree: _Element, blocks: Sequence[Block], titles: Sequence[str], *, article: bool
) -> list[Block]:
    """The blocks of the main text with their headings, in order; empty when none is found.

    Args:
        tree: the page, from which ``blocks`` were read. Its texts are marked and not restored.
        titles: the page's title and its variants, by which its first heading is known.
        article: whether the page is one; then links to others between its paragraphs go.
    """
    chosen = _chosen(tree, blocks)
    root = _common(chosen)
    if root is None:
        return []
    above = set(ancestors(root))
    chosen -= _few({block for block in chosen if _around(block.element, above)}, chosen)
    chosen |= _prose_beside(blocks, chosen, above)
    chosen |= _between(blocks, chosen, above)
    chosen |= _quotations(blocks, chosen, above)
    if article:
        chosen -= _few(_lone_links(chosen), chosen)
        chosen |= _lead(blocks, chosen, above, titles)
    chosen -= _notices(blocks, chosen)
    return _with_headings(blocks, chosen, _headings(blocks, root, titles, links_too=not article))


def visible_blocks(blocks: Sequence[Block]) -> list[Block]:
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
    known: dict[str, Block] = {}
    for code, (block, node) in zip(range(_FIRST_MARK, _LAST_MARK + 1), nodes, strict=False):
        known[chr(code)] = block
        node.prefix(chr(code))
    found = bare_extraction(deepcopy(tree), include_comments=False, include_links=False)
    if not isinstance(found, Extracted) or found.body is None:
        return set()
    text = "".join(str(piece) for piece in found.body.itertext())
    taken = {known[mark] for mark in _MARKS.findall(text) if mark in known}
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


def _around(element: _Element, above: set[_Element], tags: frozenset[str] = _AROUND_TAGS) -> bool:
    """Whether the element stands in a box that is no part of the text; ``above`` is no such box."""
    for one in ancestors(element):
        if one in above or tag_of(one) in ("body", "html"):
            return False
        if tag_of(one) in tags or (one.get("role") or "").lower() in _AROUND_ROLES:
            return True
        if _AROUND.search(_names(one)):
            return True
    return False


def _names(element: _Element) -> str:
    """Class and id; a modifier after two hyphens says how a thing looks, not what it is."""
    return re.sub(r"--\S+", "", f"{element.get('class') or ''} {element.get('id') or ''}")


def _few(dropped: set[Block], chosen: set[Block]) -> set[Block]:
    """``dropped``, or nothing when that is too much of ``chosen``."""
    whole = sum(block.letters for block in chosen)
    return dropped if sum(block.letters for block in dropped) <= MOST_DROPPED * whole else set()


def _home(block: Block) -> _Element:
    """The container of the block."""
    return next(
        (one for one in ancestors(block.element) if tag_of(one) not in _PARTS), block.element
    )


def _likeness(home: _Element) -> tuple[tuple[str, str], ...]:
    """Names and classes of a container and all around it: alike for the parts of one text."""
    return tuple(
        (tag_of(one), re.sub(r"\d+", "", " ".join(sorted((one.get("class") or "").split()))))
        for one in ancestors(home)
    )


def _prose(block: Block, letters: int = PROSE_LETTERS) -> bool:
    return not block.level and block.letters >= letters and block.linked < PROSE_LINKED


def _prose_beside(blocks: Sequence[Block], chosen: set[Block], above: set[_Element]) -> set[Block]:
    """Prose in containers that are like those of the chosen prose."""
    letters: Counter[tuple[tuple[str, str], ...]] = Counter()
    for block in chosen:
        letters[_likeness(_home(block))] += block.letters
    least = max(HOME_LETTERS, HOME_SHARE * letters.total())
    homes = {home for home, count in letters.items() if count >= least}
    return {
        block
        for block in blocks
        if _prose(block)
        and block not in chosen
        and _likeness(_home(block)) in homes
        and not _around(block.element, above)
    }


def _between(blocks: Sequence[Block], chosen: set[Block], above: set[_Element]) -> set[Block]:
    """Short blocks between two chosen ones of the same container."""
    found: set[Block] = set()
    waiting: list[Block] = []
    before: _Element | None = None
    for block in blocks:
        if block in chosen:
            home = _home(block)
            if home is before:
                found.update(one for one in waiting if _home(one) is home)
            before, waiting = home, []
        elif not block.level and block.linked < PROSE_LINKED:
            waiting.append(block)
    return {block for block in found if not _around(block.element, above)}


def _quotations(blocks: Sequence[Block], chosen: set[Block], above: set[_Element]) -> set[Block]:
    """Block quotations between the first and the last chosen block."""
    places = [number for number, block in enumerate(blocks) if block in chosen]
    found: set[Block] = set()
    for block in blocks[places[0] : places[-1]] if places else ():
        # Class names are no help: posts from social networks are quoted in boxes named after them.
        tags = set(map(tag_of, takewhile(lambda one: one not in above, ancestors(block.element))))
        if not block.level and "blockquote" in tags and not tags & _BESIDE_TAGS:
            found.add(block)
    return found


def _lone_links(chosen: set[Block]) -> set[Block]:
    """Paragraphs that are only a link to another page, with or without a label."""
    if sum(block.letters for block in chosen) < LEAST_TEXT:
        return set()
    found = set()
    for block in chosen:
        other = block.letters * (1 - block.linked)
        labelled = other <= LINK_LABEL and block.letters - other > 2 * other
        alone = block.group is None and not _ADDRESS.search(block.text)
        if alone and (block.linked >= LINK_SHARE or labelled):
            found.add(block)
    return found


def _notices(blocks: Sequence[Block], chosen: set[Block]) -> set[Block]:
    """Lines about copyright at the end of the text."""
    last = (one for one in reversed(blocks) if one in chosen)
    return _few({*takewhile(_is_notice, last)}, chosen)


def _is_notice(block: Block) -> bool:
    return len(block.text) <= NOTICE_CHARACTERS and bool(_NOTICE.match(block.text))


def _lead(
    blocks: Sequence[Block], chosen: set[Block], above: set[_Element], titles: Sequence[str]
) -> set[Block]:
    """Sentences between the page's title and its first chosen block."""
    found: set[Block] = set()
    begun = False
    for block in blocks:
        if block in chosen:
            return found if begun else set()
        if block.level and (_is_title(block, titles) or block.level == 1):
            begun, found = True, set()
        elif _prose(block, LEAD_LETTERS) and _SENTENCE_END.search(block.text):
            found |= set() if _beside(block.element, above) else {block}
    return set()


def _beside(element: _Element, above: set[_Element]) -> bool:
    """Whether the element stands in a box of any sort: a caption, an aside, a subscription."""
    if _around(element, above, _BESIDE_TAGS):
        return True
    boxes = takewhile(lambda one: one not in above, ancestors(element))
    return any(_CAPTION.search(_names(one)) for one in boxes)


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


def _with_headings(
    blocks: Sequence[Block], chosen: set[Block], headings: set[Block]
) -> list[Block]:
    """``chosen`` with every heading that stands over some of it, in order."""
    kept: list[Block] = []  # from the end of the page upwards
    for block in reversed(blocks):
        if block in chosen or (block in headings and _covers(block, kept)):
            kept.append(block)
    return kept[::-1]


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


def _is_title(heading: Block, titles: Sequence[str]) -> bool:
    words = bare(heading.text)
    known = map(bare, titles)
    return len(words) > 3 and any(words in one and 2 * len(words) >= len(one) for one in known)
