"""A disagreement on its way into an answer: as text and claims, then with its citations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wellread.answers import Claim, Conflict, Evidence, Sentence, View
from wellread.ask.verify.conflicts.detect import Disagreement
from wellread.ask.verify.conflicts.reasons import reason
from wellread.ask.write.extractive.arrange import Page
from wellread.ask.write.extractive.candidate_sentences import Option
from wellread.text.parsed import parse

LONGEST_LABEL = 80  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispute:
    """A disagreement whose sentences stand in a draft: one claim for each view.

    Attributes:
        about: what on.
        reason: why the sources may differ, in words; may be empty.
    """

    about: str
    reason: str
    views: tuple[Claim, ...]


def told(found: Disagreement, evidence: Sequence[Evidence], page: Page) -> Dispute:
    """Write every view onto ``page``, a list under a line that says what follows."""
    why = reason(found, evidence)
    if found.kind == "meanings":
        page.label(f"“{found.about}” can mean several things:")
        about = f"what “{found.about}” means"
    else:
        page.label(f"The sources differ{f' ({why})' if why else ''}:")
        about = found.about
    begun = len(page.claims)
    for lead, *others in found.views:
        also = [evidence[other.evidence].key for other in others]
        page.view(lead, label=_label(found, lead, evidence), also=also)
    return Dispute(about=about, reason=why, views=tuple(page.claims[begun:]))


def _label(found: Disagreement, option: Option, evidence: Sequence[Evidence]) -> str:
    """The title of a source whose sentence does not itself say what it is about."""
    if found.kind != "meanings" or parse(found.about).stem_set <= option.stems:
        return ""
    title = " ".join(evidence[option.evidence].hit.document.title.split())
    return title if len(title) <= LONGEST_LABEL else f"{title[:LONGEST_LABEL].rstrip()}…"


def settled(disputes: Sequence[Dispute], sentences: Sequence[Sentence]) -> tuple[Conflict, ...]:
    """The disputes as conflicts, each view with the citations of its delivered sentence.

    A view whose sentence was not delivered is left out, and a dispute with one view left.
    """
    found = []
    for dispute in disputes:
        views = [
            View(text=sentence.text, citations=sentence.citations)
            for claim in dispute.views
            for sentence in sentences
            if sentence.text == claim.text and claim.source in (None, sentence.verdict.source)
        ]
        if len(views) > 1:
            found.append(Conflict(about=dispute.about, views=tuple(views), reason=dispute.reason))
    return tuple(found)
