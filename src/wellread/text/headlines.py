"""What a part of a document is called, read from its own first words."""

from __future__ import annotations

import re

from wellread.types import Span

HEAD = 300  # characters of a part that are enough to name it
LONGEST_TITLE = 90  # characters
LONGEST_LEAD = 140  # characters: a colon after more than this does not end a title
WHOLE = 0.95  # of a document's text: a part that holds this share is the document

_HEADING = re.compile(r"(?P<line>[^\n]{1,120}[^\n.!?:,;…])\n\n")
_SENTENCE_END = re.compile(r"[.!?](?=\s)")


def headline(span: Span, head: str, title: str, characters: int) -> str:
    """What the part ``span`` of a document is called.

    Args:
        head: the first ``HEAD`` characters of the part.
        title: that of the document, which stands for a part that is nearly all of it.
        characters: length of the document's text.
    """
    if len(span) >= WHOLE * characters and title:
        return shortened(" ".join(title.split()), LONGEST_TITLE)
    return lead_of(head)


def lead_of(text: str) -> str:
    """A heading line on top, else the words before the first colon, else the first sentence.

    One line of at most ``LONGEST_TITLE`` characters.
    """
    heading = _HEADING.match(text.lstrip())
    if heading:
        return shortened(" ".join(heading["line"].split()), LONGEST_TITLE)
    line = " ".join(text.split())
    colon = line.find(": ")
    sentence = _SENTENCE_END.search(line)
    end = sentence.start() if sentence else len(line)
    lead = line[:colon] if 0 < colon <= min(end, LONGEST_LEAD) else line[:end]
    return shortened(lead, LONGEST_TITLE).rstrip(" ,;:.")


def shortened(line: str, most: int) -> str:
    """``line``, cut at a space with an ellipsis when it is longer than ``most`` characters."""
    if len(line) <= most:
        return line
    cut = line.rfind(" ", most // 2, most)
    return line[: cut if cut > 0 else most - 1].rstrip(" ,;:–—-") + "…"
