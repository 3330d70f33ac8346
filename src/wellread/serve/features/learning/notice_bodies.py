"""What a person is told when they come back, as JSON and on a terminal."""

from __future__ import annotations

from datetime import datetime

from rich.console import Console
from rich.text import Text

from wellread.identity import LOCAL
from wellread.kb import KnowledgeBase
from wellread.serve.features.bodies import Body
from wellread.text.words import harmless


class NoticeBody(Body):
    """A notice: whom it is for, what kind it is, and the id of what it is about."""

    id: int
    owner: str
    created_at: datetime
    kind: str
    target: str
    text: str
    seen_at: datetime | None


class NoticesBody(Body):
    """Notices, the newest first."""

    notices: tuple[NoticeBody, ...]


def notices_body(kb: KnowledgeBase, *, every: bool = False, limit: int = 100) -> NoticesBody:
    """What nobody has seen yet, or ``every`` one.

    A home without users is one person's, who is told all of it, also what experts would be told
    whose feedback was imported.
    """
    told, asker = kb.catalogue.notices, kb.asker
    if asker == LOCAL:
        return NoticesBody.of(notices=told.newest(unseen=not every, limit=limit))
    return NoticesBody.of(notices=told.of(asker.owner, unseen=not every, limit=limit))


def print_notices(console: Console, body: NoticesBody) -> None:
    """A line for each."""
    if not body.notices:
        console.print("Nothing new.")
    for one in body.notices:
        line = Text(f"{one.created_at:%Y-%m-%d}  ", style="dim")
        whom = f"{harmless(one.owner)}: " if one.owner else ""
        line.append(f"{whom}{harmless(one.text)}", style="")
        console.print(line, soft_wrap=True)


def told_in_a_line(kb: KnowledgeBase) -> str:
    """How many notices wait, in a line; empty when none does."""
    count = len(kb.catalogue.notices.newest(limit=100))
    if not count:
        return ""
    more = "1 notice" if count == 1 else f"{'over 99' if count == 100 else count} notices"
    return f"{more} for you: see 'wellread feedback notices'."
