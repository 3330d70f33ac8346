"""Characters that a reader does not see and a model reads."""

from __future__ import annotations

import re

# Controls but for tab and line break, spaces of no width, marks and overrides of direction,
# Unicode tags and the second set of variation selectors, in which whole sentences can be hidden.
# Joiners (U+200C, U+200D) stay: some scripts and emoji need them.
_INVISIBLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff"
    r"\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)


def visible(text: str) -> str:
    """``text`` without them; line breaks of other systems become ``\\n``."""
    return _INVISIBLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
