"""Preferences as bodies, and the change of them that all faces share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from rich.console import Console

from wellread.ask.retrieve.search import check_collections
from wellread.ask.understand.followups.conversation import personas
from wellread.errors import RequestError
from wellread.kb import KnowledgeBase
from wellread.learning.preferences_learned import (
    refreshed,
    revoke,
    set_consent,
    set_preferences,
)
from wellread.serve.features.bodies import Body
from wellread.serve.terminal import table
from wellread.store.catalogue.learning.preference_records import KeptPreferences
from wellread.text.words import harmless
from wellread.types import Filters
from wellread.values.question import Language, Length, Preferences, RuleKind, SourceRule

KINDS: tuple[RuleKind, ...] = ("document", "collection", "source_type", "site")
MOST_RULES = 200


class SourceRuleBody(Body):
    """Sources, written ``KIND:VALUE``: document, collection, source_type or site."""

    kind: RuleKind
    value: str
    title: str = Field(default="", description="of a document")


class LearnedBody(Body):
    """What feedback suggests; it holds unless it is revoked."""

    rule: SourceRuleBody
    effect: Literal["preferred", "lowered"]
    why: str
    revoked: bool


class PersonaBody(Body):
    """A persona of the home."""

    id: str
    name: str
    prompt: str
    length: Length


class PreferencesBody(Body):
    """What is set, what was learned, and what can be chosen."""

    preferred: tuple[SourceRuleBody, ...]
    lowered: tuple[SourceRuleBody, ...]
    muted: tuple[SourceRuleBody, ...]
    length: Length
    language: Language
    languages: tuple[str, ...] = Field(
        default=("en",), description="that the interface is written in"
    )
    persona: str
    collection: str
    consent: bool = Field(description="whether ratings may add to the preferences")
    learned: tuple[LearnedBody, ...]
    personas: tuple[PersonaBody, ...]


Rules = Annotated[tuple[Annotated[str, Field(max_length=500)], ...], Field(max_length=MOST_RULES)]


class PreferencesChange(BaseModel):
    """What is to be changed; what is not given stays. Sources are written ``KIND:VALUE``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    preferred: Rules | None = None
    lowered: Rules | None = None
    muted: Rules | None = None
    length: Length | None = None
    language: Language | None = None
    persona: Annotated[str, Field(max_length=60)] | None = None
    collection: Annotated[str, Field(max_length=200)] | None = None
    consent: bool | None = None
    revoke: Rules = Field(default=(), description="ids of documents about which was learned")
    restore: Rules = ()


def preferences_body(kb: KnowledgeBase, owner: str) -> PreferencesBody:
    """Everything about the preferences of ``owner``.

    Raises:
        SettingsError: the file of a persona cannot be understood.
        StoreError: the catalogue cannot be read.
    """
    kept = refreshed(kb, owner)
    given = kept.given
    rules = [*given.preferred, *given.lowered, *given.muted, *(one.rule for one in kept.learned)]
    facts = kb.catalogue.facts({one.value for one in rules if one.kind == "document"})

    def body(rule: SourceRule) -> SourceRuleBody:
        known = facts.get(rule.value) if rule.kind == "document" else None
        return SourceRuleBody.of(rule, title=known.title if known else "")

    return PreferencesBody.of(
        given,
        kept,
        preferred=[body(one) for one in given.preferred],
        lowered=[body(one) for one in given.lowered],
        muted=[body(one) for one in given.muted],
        languages=("en",),
        learned=[LearnedBody.of(one, rule=body(one.rule)) for one in kept.learned],
        personas=[PersonaBody.of(one, id=name) for name, one in personas(kb).items()],
    )


def change_preferences(kb: KnowledgeBase, owner: str, change: PreferencesChange) -> None:
    """Keep the change, all of it or nothing of what was set.

    Raises:
        RequestError: a rule or a persona that is none.
        UnknownCollectionError: a collection that does not exist.
        SettingsError, StoreError: a part of the home cannot be used.
    """
    kept: KeptPreferences = kb.catalogue.preferences.of(owner)
    plain = change.model_dump(exclude_none=True, exclude={"consent", "revoke", "restore"})
    values = {
        name: rules_of(kb, value) if name in ("preferred", "lowered", "muted") else value
        for name, value in plain.items()
    }
    held = {
        name: getattr(kept.given, name)
        for name in PreferencesChange.model_fields
        if hasattr(kept.given, name)
    }
    given = Preferences(**{**held, **values})
    if given.persona and given.persona not in personas(kb):
        raise RequestError(
            f"there is no persona {given.persona!r}",
            hint=f"there are: {', '.join(personas(kb)) or 'none; docs/learning.md'}",
        )
    check_collections(kb, Filters(collections=(given.collection,) if given.collection else ()))
    if plain:
        set_preferences(kb, owner, given)
    if change.consent is not None:
        set_consent(kb, owner, change.consent)
    for document_id in change.revoke:
        revoke(kb, owner, document_id)
    for document_id in change.restore:
        revoke(kb, owner, document_id, again=True)


def rules_of(kb: KnowledgeBase, given: Sequence[str]) -> tuple[SourceRule, ...]:
    """The rules that are written ``KIND:VALUE``; a document may be given by its title.

    Raises:
        RequestError: another kind, no value, or a document that is not there.
    """
    found = []
    for text in given:
        name, _, value = (part.strip() for part in text.partition(":"))
        kind = next((one for one in KINDS if one == name), None)
        if kind is None or not value:
            raise RequestError(
                f"{text!r} names no sources",
                hint=f"write KIND:VALUE, KIND one of {', '.join(KINDS)}",
            )
        # The page writes the title behind the id, for whoever reads it.
        first = value.partition(" # ")[0]
        if kind == "document" and kb.catalogue.facts({first}):
            value = first
        elif kind == "document":
            named = [one.id for one in kb.catalogue.listings.titles(()) if one.title == value]
            if len(named) != 1:
                why = "several documents are" if named else "no document is"
                raise RequestError(f"{why} called {value!r}", hint="give the id of a document")
            value = named[0]
        found.append(SourceRule(kind=kind, value=value))
    return tuple(dict.fromkeys(found))


def rule_words(rule: SourceRuleBody) -> str:
    """``document:“Title”`` or ``site:example.org``."""
    return f"{rule.kind}:“{rule.title}”" if rule.title else f"{rule.kind}:{rule.value}"


def print_preferences(console: Console, body: PreferencesBody) -> None:
    """What is set, then what was learned and why."""
    rows = [
        ["preferred", ", ".join(map(rule_words, body.preferred)) or "–"],
        ["ranked lower", ", ".join(map(rule_words, body.lowered)) or "–"],
        ["muted", ", ".join(map(rule_words, body.muted)) or "–"],
        ["length", body.length or "as in the settings"],
        ["language", f"{body.language} (the interface is written in {', '.join(body.languages)})"],
        ["persona", body.persona or "–"],
        ["collection", body.collection or "all"],
        ["learns from ratings", "yes" if body.consent else "no"],
    ]
    console.print(table(["Preference", "Value"], rows, header_style="bold"))
    for one in body.learned:
        state = "revoked" if one.revoked else "in force"
        line = f"learned: {one.effect} {rule_words(one.rule)}, {one.why} ({state})"
        console.print(harmless(line), markup=False)


def print_personas(console: Console, body: PreferencesBody) -> None:
    """The personas of the home."""
    if not body.personas:
        console.print("There is no persona; docs/learning.md says how to write one.")
        return
    rows = [[one.id, one.name, one.length or "–", one.prompt] for one in body.personas]
    console.print(table(["Id", "Name", "Length", "Wish"], rows, header_style="bold"))
