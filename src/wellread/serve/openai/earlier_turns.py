"""What a program sends back of an answer of ours: the answer alone, and which one it was.

Programs keep the conversation themselves and send all of it with every question. Our Markdown is
taken apart again, so that an answer is read without its markers, sections and sources; its link to
the proof says which stored answer it was.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from wellread.serve.openai.answer_markdown import (
    ANSWER_PAGE,
    CONFIDENCE,
    FLAGGED,
    RULE,
    UNDERSTOOD_LINE,
)
from wellread.types import EarlierTurn

_MARKER = re.compile(r" ?\[\\\[\d+\\\]\]\([^()\s]*\)")
_FLAG = re.compile("|".join(re.escape(flag) for flag in FLAGGED.values()))
_ESCAPED = re.compile(r"\\([^\w\s]|_)|&#(\d+);")
_ID = re.compile(rf"\({'[^()]*'}{re.escape(ANSWER_PAGE)}([^()/\s]+)\)\Z")


def earlier_turn(question: str, answer: str) -> EarlierTurn:
    """The turn that ``question`` and ``answer`` were, as a program sends them back."""
    text = answer.replace("\r\n", "\n").strip()
    body, rule, after = text.rpartition(RULE)
    last = after.rpartition("\n")[2]
    if not rule or not CONFIDENCE.match(last):
        return EarlierTurn(question=question, answer=text)
    named = _ID.search(last)
    body = _FLAG.sub("", _MARKER.sub("", UNDERSTOOD_LINE.sub("", body)))
    return EarlierTurn(
        question=question,
        answer=_ESCAPED.sub(lambda one: one[1] or chr(int(one[2])), body),
        answer_id=unquote(named[1]) if named else "",
    )
