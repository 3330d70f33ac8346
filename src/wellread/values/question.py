"""What a question asks for, as read from its words, and what its asker prefers.

The values that retrieval works from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from wellread.text.parsed import Text, parse
from wellread.types import DocumentFacts, Filters, Mode, Span

QuestionType = Literal[
    "factual",
    "comparative",
    "exploratory",
    "relational",
    "gap_finding",
    "meta",
    "trend",
    "persona",
    "synthesis",
    "temporal",
    "counting",
]
ConstraintKind = Literal[
    "time",
    "speaker",
    "author",
    "kind",
    "source_type",
    "language",
    "taxonomy",
    "collection",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """A limit that the question's own words set ("in Q4 2025", "at municipal scale").

    Attributes:
        span: where it stands in the question.
        value: what it was read as, for a person ("2025-10-01 to 2025-12-31", "scales: municipal").
        filters: the same as filters; only the fields of this constraint are set.
    """

    kind: ConstraintKind
    span: Span
    value: str
    filters: Filters


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedEntity:
    """An entity of the knowledge graph that the question names.

    Attributes:
        span: where the name stands in the question.
        title: what the entity is called itself, when the question used an alias.
        type: its type in the graph ("topic", "pattern", "organisation"); may be empty.
    """

    span: Span
    collection: str
    entity_id: str
    title: str
    type: str = ""


# --- what the asker prefers ---

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """What a question asks for, read from its words alone.

    Attributes:
        terms: the content words of the subject, lower case, in order, without repeats.
        names: its capitalised or quoted names, and numbers, as written.
        filters: the limits that the asker set; those of ``constraints`` are not among them.
        subject: the question without the words of its constraints: what is searched for.
        own_words: the question in the asker's language, where it is searched in another.
        context: an earlier question of the conversation, searched with this one; may be empty.
        sides: of a comparison, what each side is called; empty otherwise.
        reasons: why this type and this mode, in words.
        respelt: which words were read in another spelling, in words.
        max_clusters: most stories that news is told from; None takes the setting.
        persona: whose views are asked for, as the material writes them, where they speak in it.
        relaxed: those of its constraints within which nothing was found.
        liking: what the asker prefers; it shapes ranking, length and prompt.
    """

    question: str
    type: QuestionType
    terms: tuple[str, ...]
    names: tuple[str, ...]
    filters: Filters
    mode: Mode = "quick"
    subject: str = ""
    constraints: tuple[Constraint, ...] = ()
    entities: tuple[NamedEntity, ...] = ()
    sides: tuple[str, ...] = ()
    reasons: tuple[str, ...] = field(default=())
    max_clusters: int | None = None
    own_words: str = ""
    context: str = ""
    respelt: tuple[str, ...] = ()
    persona: tuple[str, ...] = ()
    relaxed: tuple[Constraint, ...] = ()
    liking: Preferences = field(default_factory=Preferences)

    @property
    def asked(self) -> str:
        """The question as an answer is written to it."""
        return self.own_words or self.question

    @property
    def voices(self) -> tuple[str, ...]:
        """Whose words alone may be given, by the asker's limit or the question's; empty: all."""
        asked = [one.filters.speakers for one in self.constraints if one.filters.speakers]
        chosen = [self.filters.speakers] if self.filters.speakers else []
        named, *others = [*chosen, *asked, *([self.persona] if self.persona else [])] or [()]
        kept = {name.casefold() for name in named}
        for other in others:
            kept &= {name.casefold() for name in other}
        return tuple(name for name in named if name.casefold() in kept) or named

    @property
    def parsed(self) -> Text:
        """The question as its passages are read for."""
        return parse(self.wanted)

    @property
    def wanted(self) -> str:
        """The question without the words of limits that held, which no passage has to say again.

        Nobody names themselves in what they say, and minutes of a day seldom name it.
        """
        limited = self.voices or (self.constraints and not self.relaxed)
        return self.subject if limited and self.subject else self.question

    @property
    def searched(self) -> str:
        """What a search for the question as a whole looks for."""
        text = self.subject or self.question
        return f"{text}\n{self.context}" if self.context else text
