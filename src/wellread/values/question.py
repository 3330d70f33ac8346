"""Value types for the analysis of a question, and for the user's preferences."""

from __future__ import annotations

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
    """A limit found in the question's own words ("in Q4 2025", "at municipal scale").

    Attributes:
        span: its position in the question.
        value: its meaning for readers ("2025-10-01 to 2025-12-31", "scales: municipal").
        filters: the constraint as filters; other fields are empty.
    """

    kind: ConstraintKind
    span: Span
    value: str
    filters: Filters


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedEntity:
    """An entity of the knowledge graph that is mentioned in the question.

    Attributes:
        span: position of the name in the question.
        title: the entity's own title, even if the question uses an alias.
        type: its type in the graph ("topic", "pattern", "organisation"); may be empty.
    """

    span: Span
    collection: str
    entity_id: str
    title: str
    type: str = ""


# --- the user's preferences ---

RuleKind = Literal["document", "collection", "source_type", "site"]
Length = Literal["", "short", "normal", "long"]
Language = Literal["en"]
LENGTHS: dict[Length, float] = {"short": 0.5, "normal": 1.0, "long": 2.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRule:
    """A rule for sources: a document (by id), a collection, a source type, or a site (by host)."""

    kind: RuleKind
    value: str

    def fits(self, document: DocumentFacts) -> bool:
        """Whether the rule applies to the document."""
        if self.kind == "site":
            host = (urlsplit(document.url).hostname or "").casefold()
            site = self.value.casefold()
            return host == site or host.endswith(f".{site}")
        values = {
            "document": document.id,
            "collection": document.collection,
            "source_type": document.source_type,
        }
        return values[self.kind].casefold() == self.value.casefold()


@dataclass(frozen=True, slots=True, kw_only=True)
class Preferences:
    """The preferences of one user; empty by default.

    Attributes:
        preferred: sources ranked slightly higher; ``lowered``: slightly lower.
        muted: sources used only if a question asks for them.
        persona: name of a file in the folder ``personas`` of the knowledge base.
        collection: the default collection for questions.
        wish: the persona's instruction to a model; filled in when a question is analysed.
    """

    preferred: tuple[SourceRule, ...] = ()
    lowered: tuple[SourceRule, ...] = ()
    muted: tuple[SourceRule, ...] = ()
    length: Length = ""
    language: Language = "en"
    persona: str = ""
    collection: str = ""
    wish: str = ""

    def sentences(self, default: int) -> int:
        """The maximum number of sentences in an answer; ``default`` is the setting."""
        return max(1, round(default * LENGTHS.get(self.length, 1.0)))


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedPreference:
    """A preference learned from feedback; ``revoked``: the user has rejected it."""

    rule: SourceRule
    effect: Literal["preferred", "lowered"]
    why: str
    revoked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """The result of analysing a question, derived from its words alone.

    Attributes:
        terms: content words of the subject, in lower case and order, without repeats.
        names: capitalised or quoted names, and numbers, as written.
        filters: limits set by the user, without those of ``constraints``.
        subject: the question without the words of its constraints; used for searching.
        language: the code of the language that it is asked in, among those of the material.
        own_words: the question in the user's language, if searched in another.
        context: an earlier question of the conversation to search with; may be empty.
        sides: names of the sides of a comparison; otherwise empty.
        reasons: why this type and mode were chosen, as text.
        respelt: spelling corrections, as text.
        max_clusters: maximum number of news stories used; None uses the setting.
        persona: people whose views are requested, as spelled in the material where they speak.
        relaxed: constraints within which nothing was found.
        liking: the user's preferences on ranking, length and prompt.
    """

    question: str
    type: QuestionType
    terms: tuple[str, ...]
    names: tuple[str, ...]
    filters: Filters
    mode: Mode = "quick"
    subject: str = ""
    language: str = "en"
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
        """The question in the user's own words, which the answer replies to."""
        return self.own_words or self.question

    @property
    def voices(self) -> tuple[str, ...]:
        """Speakers to whom answers are limited, by filter or question; empty: no limit."""
        limits = [limit.filters.speakers for limit in self.constraints if limit.filters.speakers]
        user_limits = [self.filters.speakers] if self.filters.speakers else []
        first_limit, *others = [
            *user_limits,
            *limits,
            *([self.persona] if self.persona else []),
        ] or [()]
        # The speakers that all limits name; if there are none, those of the first limit.
        allowed = {name.casefold() for name in first_limit}
        for other in others:
            allowed &= {name.casefold() for name in other}
        return tuple(name for name in first_limit if name.casefold() in allowed) or first_limit

    @property
    def parsed(self) -> Text:
        """The parsed question for matching passages."""
        return parse(self.wanted)

    @property
    def wanted(self) -> str:
        """The question without the words of applied limits, which passages need not repeat.

        Speakers do not name themselves, and the minutes of a meeting rarely mention its date.
        """
        limited = self.voices or (self.constraints and not self.relaxed)
        return self.subject if limited and self.subject else self.question

    @property
    def searched(self) -> str:
        """The query for the question as a whole."""
        text = self.subject or self.question
        return f"{text}\n{self.context}" if self.context else text
