"""What to do, from a guide: section by section, the sentences that tell somebody what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wellread.answers import Evidence
from wellread.ask.understand.answer_kind import guide_of
from wellread.ask.write.sentences import Option, in_order, options_of
from wellread.questions import Analysis
from wellread.text.english import STOP_WORDS

FEWEST, MOST = 2, 7  # sections that are told
OF_A_SECTION = 2  # sentences; a list counts as it is
LONGEST_HEADING = 9  # words
MANY_ITEMS = 6  # of one list
_MUST = re.compile(
    r"\b(?:you (?:will )?(?:need|must|should|can|have to)|(?:needs?|has|have) to|must|should"
    r"|make sure|do not|don['’]t|never|always|at least|at most|please)\b",
    re.IGNORECASE,
)
_LIST_OF_NEEDS = re.compile(r"\b(?:has|have|needs?|requires?|must|should)\b[^.]*$")
# "Ask the sewing circle", "Plan with 600 euros": a bare verb, and what it acts on or with.
_ORDER = re.compile(
    r"^(?P<verb>[A-Z][a-z]{1,14})\s+(?:the|a|an|your|all|each|every|it|them|no|not|any|only|with"
    r"|for|at|to|in|on|up|out|off|down|people|someone)\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading of the guide, and its sentences that tell what to do, in order."""

    heading: str
    told: tuple[Option, ...]


def sections_of(analysis: Analysis, evidence: Sequence[Evidence]) -> list[Section]:
    """The sections of the guide that the evidence holds, in its own order; none without a guide."""
    documents = [piece.hit.document for piece in evidence]
    guide = guide_of(analysis.question, " ".join(analysis.terms), documents)
    if guide is None:
        return []
    options = options_of(evidence)
    places = [at for at, piece in enumerate(evidence) if piece.hit.document.id == guide.id]
    told: list[Section] = []
    for at in sorted(places, key=lambda place: evidence[place].span.start):
        told += _told_in(evidence[at], [option for option in options if option.evidence == at])
    return told[:MOST] if len({section.heading for section in told}) >= FEWEST else []


def _told_in(piece: Evidence, options: Sequence[Option]) -> Iterator[Section]:
    """The sections of one piece; lines that are headings divide it."""
    heading = piece.locator.heading[-1] if piece.locator.heading else ""
    runs: list[tuple[str, list[Option]]] = [(heading, [])]
    leads = {option.lead for option in options}
    for option in options:
        if option.place not in leads and _is_heading(option, piece):
            runs.append((option.text, []))
        else:
            runs[-1][1].append(option)
    for name, held in runs:
        told: dict[int, Option] = {}
        for option in held:
            lead = next((each.text for each in held if each.place == option.lead), "")
            telling = option.readable and (_tells(option) or _LIST_OF_NEEDS.search(lead))
            if not telling or len(told) >= OF_A_SECTION:
                continue
            whole = [
                each for each in held if option.item and each.item and each.lead == option.lead
            ]
            told |= {each.place: each for each in whole[:MANY_ITEMS] or [option]}
        if told:
            chosen = [told[place] for place in sorted(told)]
            yield Section(heading=name, told=tuple(in_order(chosen, options)))


def _is_heading(option: Option, piece: Evidence) -> bool:
    """Whether it is a line of its own that is one of the headings' kind."""
    start = option.span.start - piece.span.start
    after = piece.text[start + len(option.text) :]
    short = len(option.text.split()) <= LONGEST_HEADING and option.text[:1].isupper()
    alone = after.startswith("\n\n") and (not start or piece.text[:start].endswith("\n\n"))
    return short and alone and not option.item and not option.text.endswith((".", ":", "!", "?"))


def _tells(option: Option) -> bool:
    """Whether it tells a reader what to do."""
    if _MUST.search(option.text):
        return True
    order = _ORDER.match(option.text)
    return order is not None and order["verb"].lower() not in STOP_WORDS
