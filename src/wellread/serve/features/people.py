"""People: their accounts and keys, what they may change, what they prefer and are told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, cast

from pydantic import Field
from starlette.exceptions import HTTPException
from starlette.requests import Request

from wellread.ask.retrieve.search import check_collections
from wellread.ask.understand.conversation import Persona, personas
from wellread.errors import RequestError, SourceError
from wellread.identity import LOCAL
from wellread.ingest.sources.addresses import is_web
from wellread.ingest.sources.discover import local_path
from wellread.kb import KnowledgeBase
from wellread.learning.preferences_learned import (
    refreshed,
    revoke,
    set_consent,
    set_preferences,
)
from wellread.library.uploads import upload_folder
from wellread.serve.features.feature import FeatureRouter, StrictModel
from wellread.serve.guards.route_rules import Kb
from wellread.serve.guards.sign_in import FORBIDDEN
from wellread.serve.views import FACES, PlainShape, Shape, show_plain
from wellread.store.catalogue.accounts.sign_in_records import Accounts
from wellread.store.catalogue.preference_records import KeptPreferences, Notice
from wellread.store.schema.stored_values import (
    SCOPES,
    ApiKey,
    AuditEntry,
    Grant,
    Rights,
    Scope,
    User,
    UserGroup,
)
from wellread.types import Filters
from wellread.values.question import (
    Language,
    LearnedPreference,
    Length,
    Preferences,
    RuleKind,
    SourceRule,
)

router = FeatureRouter()

# --- accounts and keys -----------------------------------------------------------------------

show_plain(User, "* -subject")
show_plain(UserGroup)
show_plain(Grant)
show_plain(ApiKey, "* -user_id")
show_plain(AuditEntry, "* -id")


class UserBody(PlainShape, line="*user groups"):
    """An account; ``groups`` by name."""

    user: User
    groups: tuple[str, ...] = ()


class NewKeyBody(PlainShape, line="*made key"):
    """A key, told once."""

    made: ApiKey
    key: str


class ForgottenBody(PlainShape):
    """What went with a user, and where something of it still stands."""

    user: str
    answers: int = 0
    conversations: int = 0
    feedback: int = 0
    entries: int = 0
    purged: bool = True
    traces: tuple[str, ...] = ()


def user_bodies(accounts: Accounts) -> list[UserBody]:
    """All users with their groups."""
    groups = accounts.groups.every()
    return [
        UserBody(user=user, groups=tuple(one.name for one in groups if user.name in one.members))
        for user in accounts.users.every()
    ]


def new_key(
    accounts: Accounts,
    user: User,
    name: str,
    scopes: list[str],
    collections: list[str],
    days: int | None,
) -> NewKeyBody:
    """Make a key of a user.

    Args:
        scopes: what it may do; none: read and ask.
        collections: to which it is limited; none: all that the user may read.
        days: until it expires; None: never.
    """
    chosen = [known_scope(one) for one in scopes] or ["read", "ask"]
    until = None if days is None else datetime.now(UTC) + timedelta(days=days)
    made, secret = accounts.keys.new(
        user.id,
        name.strip() or "key",
        [one for one in SCOPES if one in chosen],
        collections or None,
        until,
    )
    return NewKeyBody(made=made, key=secret)


def known_scope(given: str) -> Scope:
    """The scope of that name."""
    found = next((one for one in SCOPES if one == given.strip()), None)
    if found is None:
        raise RequestError(f"{given!r} is no scope", hint=f"one of {', '.join(SCOPES)}")
    return found


def key_named(keys: list[ApiKey], given: str) -> ApiKey:
    """The key whose id, beginning or name is ``given``."""
    found = [one for one in keys if given in (one.id, one.start, one.name)]
    if len(found) != 1:
        said = "more than one key" if found else "no key"
        raise RequestError(
            f"there is {said} that {given!r} names", hint="'wellread users key' shows their ids"
        )
    return found[0]


# --- where somebody may add and remove material ----------------------------------------------


def check_may_edit(request: Request, collection: str) -> None:
    """Refuse a change of a collection that is not open to an editor for that.

    It is the same for one that is not there: what exists is not told.
    """
    if not cast(Rights, request.state.rights).may_edit(collection):
        raise HTTPException(FORBIDDEN.status, FORBIDDEN.detail)


def check_may_read(
    request: Request, kb: KnowledgeBase, collection: str, inputs: Iterable[str]
) -> None:
    """Refuse files and folders of the machine to everybody but admins.

    Its files are not the users': the settings and the catalogue are among them. Addresses of the
    web, and what was uploaded into the collection, may be read by whoever may edit it.
    """
    if cast(Rights, request.state.rights).is_admin:
        return
    kept = upload_folder(kb, collection).resolve()
    for given in inputs:
        if not is_web(given) and not Path(local_path(given)).resolve().is_relative_to(kept):
            raise SourceError(
                given,
                "is no address that may be read from here",
                hint="upload the files, or ask an admin of this server",
            )


# --- preferences -----------------------------------------------------------------------------

KINDS: tuple[RuleKind, ...] = ("document", "collection", "source_type", "site")
MOST_RULES = 200

FACES.show(SourceRule)


class NamedRule(Shape, line="*rule title"):
    """Sources, written ``KIND:VALUE``: document, collection, source_type or site.

    Attributes:
        title: of a document.
    """

    rule: SourceRule
    title: str = ""


class Learned(Shape, line="rule effect=learned.effect why=learned.why revoked=learned.revoked"):
    """What feedback suggests; it holds unless it is revoked."""

    rule: NamedRule
    learned: LearnedPreference


class PreferencesBody(
    Shape,
    line="""preferred lowered muted length=given.length language=given.language languages
    persona=given.persona collection=given.collection consent learned personas""",
    personas=(
        tuple[dict[str, str], ...],
        lambda body: [
            {"id": known, "name": one.name, "prompt": one.prompt, "length": one.length}
            for known, one in body.personas.items()
        ],
    ),
):
    """What is set, what was learned, and what can be chosen.

    Attributes:
        languages: that the interface is written in.
        consent: whether ratings may add to the preferences.
    """

    given: Preferences
    preferred: tuple[NamedRule, ...]
    lowered: tuple[NamedRule, ...]
    muted: tuple[NamedRule, ...]
    consent: bool
    learned: tuple[Learned, ...]
    personas: dict[str, Persona]
    languages: tuple[str, ...] = ("en",)


Rules = Annotated[tuple[Annotated[str, Field(max_length=500)], ...], Field(max_length=MOST_RULES)]


class PreferencesChange(StrictModel, frozen=True):
    """What is to be changed; what is not given stays. Sources are written ``KIND:VALUE``."""

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


@router.get("/api/preferences")
def preferences(kb: Kb) -> PreferencesBody:
    """What is set, what was learned and why, and the personas that can be chosen."""
    return preferences_body(kb, kb.asker.owner)


@router.patch("/api/preferences")
def change(kb: Kb, request: PreferencesChange) -> PreferencesBody:
    """Change what is given; give or withdraw consent; revoke what was learned."""
    change_preferences(kb, kb.asker.owner, request)
    return preferences_body(kb, kb.asker.owner)


def preferences_body(kb: KnowledgeBase, owner: str) -> PreferencesBody:
    """Everything about the preferences of ``owner``."""
    kept = refreshed(kb, owner)
    given = kept.given
    rules = [*given.preferred, *given.lowered, *given.muted, *(one.rule for one in kept.learned)]
    facts = kb.catalogue.facts({one.value for one in rules if one.kind == "document"})

    def named(rule: SourceRule) -> NamedRule:
        known = facts.get(rule.value) if rule.kind == "document" else None
        return NamedRule(rule=rule, title=known.title if known else "")

    return PreferencesBody(
        given=given,
        preferred=tuple(map(named, given.preferred)),
        lowered=tuple(map(named, given.lowered)),
        muted=tuple(map(named, given.muted)),
        consent=kept.consent,
        learned=tuple(Learned(rule=named(one.rule), learned=one) for one in kept.learned),
        personas=personas(kb),
    )


def change_preferences(kb: KnowledgeBase, owner: str, change: PreferencesChange) -> None:
    """Keep the change, all of it or nothing of what was set."""
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
    """The rules that are written ``KIND:VALUE``; a document may be given by its title."""
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


def rule_words(named: NamedRule) -> str:
    """``document:“Title”`` or ``site:example.org``."""
    return f"{named.rule.kind}:{f'“{named.title}”' if named.title else named.rule.value}"


# --- what a person is told when they come back -----------------------------------------------

FACES.show(Notice)


class NoticesBody(Shape):
    """Notices, the newest first."""

    notices: tuple[Notice, ...]


def notices_body(kb: KnowledgeBase, *, every: bool = False, limit: int = 100) -> NoticesBody:
    """What nobody has seen yet, or ``every`` one.

    A home without users is one person's, who is told all of it, also what experts would be told
    whose feedback was imported.
    """
    told, asker = kb.catalogue.notices, kb.asker
    found = (
        told.newest(unseen=not every, limit=limit)
        if asker == LOCAL
        else told.of(asker.owner, unseen=not every, limit=limit)
    )
    return NoticesBody(notices=tuple(found))
