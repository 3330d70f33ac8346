"""Puts the chosen sentences into a readable order and a text; the sentences stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from wellread.answers import Claim, Evidence
from wellread.ask.write.extractive.candidate_sentences import Option

LEADS = 1  # sentences at most that are brought along for one that leans on them


@dataclass(slots=True)
class Page:
    """The text under construction, and the claims that it makes."""

    evidence: Sequence[Evidence]
    text: str = ""
    claims: list[Claim] = field(default_factory=list)
    _shown: set[tuple[int, int]] = field(default_factory=set)

    def label(self, text: str) -> None:
        """Start a paragraph with words of ours, which are no claim."""
        self.text += f"{'' if not self.text else chr(10) * 2}{text}"

    def view(self, option: Option, *, label: str = "", also: Sequence[str] = ()) -> None:
        """Add one view of several as an item of a list.

        Args:
            label: words of ours in front of it.
            also: keys of further evidence that says the same.
        """
        self.text += f"\n- {label}: " if label else "\n- "
        self._add(option, also)

    def say(self, option: Option, *, bullet: bool = False) -> None:
        """Add a sentence, once."""
        if (option.evidence, option.place) in self._shown:
            return
        if bullet:
            self.text += "\n- " if self.text else "- "
        elif self.text and not self.text.endswith("\n"):
            self.text += " "
        self._add(option, ())

    def _add(self, option: Option, also: Sequence[str]) -> None:
        self._shown.add((option.evidence, option.place))
        self.text += option.text
        key = self.evidence[option.evidence].key
        self.claims.append(
            Claim(text=option.text, keys=tuple(dict.fromkeys((key, *also))), source=option.span)
        )

    def say_all(self, ordered: Sequence[Option]) -> None:
        """Add sentences; neighbouring items of a list stay a list, under what introduces it."""
        listed = False
        for option in ordered:
            bullet = (
                option.item
                and sum(
                    other.item and other.evidence == option.evidence and other.lead == option.lead
                    for other in ordered
                )
                > 1
            )
            if listed and not bullet and self.text:
                self.text += "\n\n"
            listed = bullet
            self.say(option, bullet=bullet)


def in_order(picked: Sequence[Option], options: Sequence[Option]) -> list[Option]:
    """Reading order: the best sentence's source leads, then the others, each as it stands there.

    A sentence that leans on the one before ("It ...", "These ...") brings it along, an item of
    a list the line that introduces it.
    """
    by_place = {(option.evidence, option.place): option for option in options}
    first_seen: dict[int, int] = {}
    for rank, option in enumerate(picked):
        first_seen.setdefault(option.evidence, rank)
    wanted: dict[tuple[int, int], Option] = {}
    for option in picked:
        for each in (*_before(option, by_place), option):
            wanted[each.evidence, each.place] = each
    groups = sorted(first_seen, key=lambda number: first_seen[number])
    ordered: list[Option] = []
    for number in groups:
        ordered += sorted(
            (option for option in wanted.values() if option.evidence == number),
            key=lambda option: option.place,
        )
    lead = picked[0]
    if not _before(lead, by_place) and ordered[0] is not lead and not ordered[0].item:
        # What answers best is read first, unless what stands before it is needed to read it.
        ordered.remove(lead)
        ordered.insert(0, lead)
    return ordered


def _before(option: Option, by_place: dict[tuple[int, int], Option]) -> list[Option]:
    """The sentences that ``option`` cannot be read without, in order."""
    if option.item and option.lead >= 0:
        return [by_place[option.evidence, option.lead]]
    found: list[Option] = []
    place = option
    while place.leaning and len(found) < LEADS:
        earlier = by_place.get((place.evidence, place.place - 1))
        if earlier is None or not earlier.readable:
            break
        found.insert(0, earlier)
        place = earlier
    return found
