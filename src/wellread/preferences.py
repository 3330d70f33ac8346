"""What a person likes: sources, length, persona. Values only; ``store`` keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from wellread.types import DocumentFacts

RuleKind = Literal["document", "collection", "source_type", "site"]
Length = Literal["", "short", "normal", "long"]
Language = Literal["en"]
LENGTHS: dict[Length, float] = {"short": 0.5, "normal": 1.0, "long": 2.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRule:
    """Sources: one document (its id), a collection, a source type, or a site (its host)."""

    kind: RuleKind
    value: str

    def fits(self, document: DocumentFacts) -> bool:
        """Whether the document is one of them."""
        if self.kind == "site":
            host = (urlsplit(document.url).hostname or "").casefold()
            wanted = self.value.casefold()
            return host == wanted or host.endswith(f".{wanted}")
        held = {
            "document": document.id,
            "collection": document.collection,
            "source_type": document.source_type,
        }
        return held[self.kind].casefold() == self.value.casefold()


@dataclass(frozen=True, slots=True, kw_only=True)
class Preferences:
    """What one person set, and nothing for who set nothing.

    Attributes:
        preferred: sources that rank a little higher; ``lowered``: a little lower.
        muted: sources that are not used unless they are asked for.
        persona: the name of a file in the home's folder ``personas``.
        collection: what is asked where no collection is named.
        wish: what a model is told of the persona; filled in when a question is read.
    """

    preferred: tuple[SourceRule, ...] = ()
    lowered: tuple[SourceRule, ...] = ()
    muted: tuple[SourceRule, ...] = ()
    length: Length = ""
    language: Language = "en"
    persona: str = ""
    collection: str = ""
    wish: str = ""

    def sentences(self, usual: int) -> int:
        """How many sentences an answer is to have at most, where ``usual`` is the setting."""
        return max(1, round(usual * LENGTHS.get(self.length, 1.0)))


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedPreference:
    """What feedback suggests, and why; ``revoked``: the person does not want it."""

    rule: SourceRule
    effect: Literal["preferred", "lowered"]
    why: str
    revoked: bool = False


def fitting(rules: Sequence[SourceRule], document: DocumentFacts) -> SourceRule | None:
    """The first rule that fits the document."""
    return next((rule for rule in rules if rule.fits(document)), None)
