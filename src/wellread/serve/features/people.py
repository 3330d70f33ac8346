"""Replies on accounts, API keys and preferences; checks who may add material or read files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from wellread.ask.retrieve.search import check_collections
from wellread.ask.understand.conversation import Persona, personas
from wellread.errors import RequestError, SourceError, invalid_value
from wellread.ingest.sources.addresses import is_page, is_store, without_credentials
from wellread.ingest.sources.discover import local_path
from wellread.kb import KnowledgeBase
from wellread.learning.preferences_learned import (
    refresh_preferences,
    revoke,
    set_consent,
    set_preferences,
)
from wellread.library.uploads import upload_folder
from wellread.serve.features.feature import FeatureRouter, StrictModel
from wellread.serve.guards.route_rules import Kb
from wellread.serve.guards.sign_in import FORBIDDEN
from wellread.serve.views import FACES, Shape
from wellread.store.catalogue.accounts.sign_in_records import Accounts
from wellread.store.catalogue.preference_records import StoredPreferences
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

router = FeatureRouter("read")
reads, asks = router.requiring("read", "ask")
# --- accounts and keys -----------------------------------------------------------------------

FACES.show(User, "* -subject")
FACES.show(UserGroup)
FACES.show(Grant)
FACES.show(ApiKey, "* -user_id")
FACES.show(AuditEntry, "* -id")


class UserBody(Shape, line="*user groups"):
    """An account with the names of its groups."""

    user: User
    groups: tuple[str, ...] = ()


class NewKeyBody(Shape, line="*made key"):
    """A new key with its secret, which is shown only once."""

    made: ApiKey
    key: str


class ForgottenBody(Shape):
    """Counts of what was deleted with a user, and the files that still contain traces."""

    user: str
    answers: int = 0
    conversations: int = 0
    feedback: int = 0
    entries: int = 0
    purged: bool = True
    traces: tuple[str, ...] = ()


def user_bodies(accounts: Accounts) -> list[UserBody]:
    """Return all users with their groups."""
    groups = accounts.groups.list_all()
    return [
        UserBody(user=user, groups=tuple(g.name for g in groups if user.name in g.members))
        for user in accounts.users.list_all()
    ]


def new_key(
    accounts: Accounts,
    user: User,
    name: str,
    scopes: list[str],
    collections: list[str],
    days: int | None,
) -> NewKeyBody:
    """Create an API key of a user.

    Args:
        scopes: what the key may do; read and ask when empty.
        collections: the only ones it may read; when empty, all that the user may read.
        days: until the key expires; None for never.
    """
    chosen_scopes = [scope_named(scope) for scope in scopes] or ["read", "ask"]
    expires_at = None if days is None else datetime.now(UTC) + timedelta(days=days)
    key, secret = accounts.keys.new(
        user.id,
        name.strip() or "key",
        [scope for scope in SCOPES if scope in chosen_scopes],
        collections or None,
        expires_at,
    )
    return NewKeyBody(made=key, key=secret)


def scope_named(name: str) -> Scope:
    """Return the scope with this name."""
    scope = next((scope for scope in SCOPES if scope == name.strip()), None)
    if scope is None:
        raise RequestError(f"there is no scope {name!r}", hint=f"one of {', '.join(SCOPES)}")
    return scope


def key_named(keys: list[ApiKey], name: str) -> ApiKey:
    """Return the only key with this id, prefix or name."""
    matches = [key for key in keys if name in (key.id, key.start, key.name)]
    if len(matches) != 1:
        problem = "several keys match" if matches else "no key matches"
        raise RequestError(
            f"{problem} {name!r}", hint="'wellread users key' lists the keys with their ids"
        )
    return matches[0]


# --- who may add and remove material ---------------------------------------------------------


def check_may_edit(request: Request, collection: str) -> None:
    """Raise 403 unless the user may edit the collection.

    An unknown collection gives the same error, so that its existence is not revealed.
    """
    if not cast(Rights, request.state.rights).may_edit(collection):
        raise HTTPException(FORBIDDEN.status, FORBIDDEN.detail)


def check_may_read(
    request: Request, kb: KnowledgeBase, collection: str, inputs: Iterable[str]
) -> None:
    """Refuse what the server itself would open to everybody except admins: its files, and stores.

    The settings and the catalogue are among these files, and the server's own passwords open
    stores. Web pages and files uploaded into the collection are allowed for all of its editors.
    """
    if cast(Rights, request.state.rights).is_admin:
        return
    uploads = upload_folder(kb, collection).resolve()
    for address in inputs:
        own = is_page(address) or (
            not is_store(address) and Path(local_path(address)).resolve().is_relative_to(uploads)
        )
        if not own:
            raise SourceError(
                without_credentials(address),
                "may not be read: the server itself would open it, and it is no web page",
                hint="upload the files, or ask an admin of this server",
            )


# --- preferences -----------------------------------------------------------------------------

KINDS: tuple[RuleKind, ...] = ("document", "collection", "source_type", "site")
MAX_RULES = 200

FACES.show(SourceRule)


class NamedRule(Shape, line="*rule title"):
    """Sources, written ``KIND:VALUE``: document, collection, source_type or site.

    Attributes:
        title: the document's title; empty for other sources.
    """

    rule: SourceRule
    title: str = ""


class Learned(Shape, line="rule effect=learned.effect why=learned.why revoked=learned.revoked"):
    """A preference learned from feedback, in force unless revoked."""

    rule: NamedRule
    learned: LearnedPreference


class PreferencesBody(
    Shape,
    line="""preferred lowered muted length=given.length language=given.language languages
    persona=given.persona collection=given.collection consent learned personas""",
    personas=(
        tuple[dict[str, str], ...],
        lambda body: [
            {"id": id_, "name": persona.name, "prompt": persona.prompt, "length": persona.length}
            for id_, persona in body.personas.items()
        ],
    ),
):
    """The chosen and learned preferences, and the available personas.

    Attributes:
        languages: the languages of the user interface.
        consent: whether preferences may be learned from ratings.
    """

    given: Preferences
    preferred: tuple[NamedRule, ...]
    lowered: tuple[NamedRule, ...]
    muted: tuple[NamedRule, ...]
    consent: bool
    learned: tuple[Learned, ...]
    personas: dict[str, Persona]
    languages: tuple[str, ...] = ("en",)


Rules = Annotated[tuple[Annotated[str, Field(max_length=500)], ...], Field(max_length=MAX_RULES)]


class PreferencesChange(StrictModel, frozen=True):
    """Changes; missing fields keep their values. Sources are written ``KIND:VALUE``."""

    preferred: Rules | None = None
    lowered: Rules | None = None
    muted: Rules | None = None
    length: Length | None = None
    language: Language | None = None
    persona: Annotated[str, Field(max_length=60)] | None = None
    collection: Annotated[str, Field(max_length=200)] | None = None
    consent: bool | None = None
    revoke: Rules = Field(default=(), description="ids of documents with a learned preference")
    restore: Rules = ()


@reads.get("/api/preferences")
def preferences(kb: Kb) -> PreferencesBody:
    """Return the chosen and learned preferences with reasons, and the available personas."""
    return preferences_body(kb, kb.asker.owner)


@asks.patch("/api/preferences")
def change(kb: Kb, request: PreferencesChange) -> PreferencesBody:
    """Change preferences, give or withdraw consent, revoke or restore learned ones."""
    change_preferences(kb, kb.asker.owner, request)
    return preferences_body(kb, kb.asker.owner)


def preferences_body(kb: KnowledgeBase, owner: str) -> PreferencesBody:
    """Return all preferences of ``owner``."""
    stored = refresh_preferences(kb, owner)
    chosen = stored.given
    learned_rules = (item.rule for item in stored.learned)
    rules = [*chosen.preferred, *chosen.lowered, *chosen.muted, *learned_rules]
    facts = kb.catalogue.facts({rule.value for rule in rules if rule.kind == "document"})

    def with_title(rule: SourceRule) -> NamedRule:
        document = facts.get(rule.value) if rule.kind == "document" else None
        return NamedRule(rule=rule, title=document.title if document else "")

    return PreferencesBody(
        given=chosen,
        preferred=tuple(map(with_title, chosen.preferred)),
        lowered=tuple(map(with_title, chosen.lowered)),
        muted=tuple(map(with_title, chosen.muted)),
        consent=stored.consent,
        learned=tuple(Learned(rule=with_title(item.rule), learned=item) for item in stored.learned),
        personas=personas(kb),
    )


def preferences_change(values: Mapping[str, object]) -> PreferencesChange:
    """Return the change with these values; an error names the first that is wrong."""
    try:
        return PreferencesChange.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        raise RequestError(invalid_value(first, str(first["loc"][0]))) from error


def change_preferences(kb: KnowledgeBase, owner: str, change: PreferencesChange) -> None:
    """Check and store the change; nothing is stored when a value is invalid."""
    stored: StoredPreferences = kb.catalogue.preferences.of(owner)
    changes = change.model_dump(exclude_none=True, exclude={"consent", "revoke", "restore"})
    values: dict[str, Any] = {
        name: rules_of(kb, value) if name in ("preferred", "lowered", "muted") else value
        for name, value in changes.items()
    }
    prefs = replace(stored.given, **values)
    if prefs.persona and prefs.persona not in personas(kb):
        raise RequestError(
            f"there is no persona {prefs.persona!r}",
            hint=f"known: {', '.join(personas(kb)) or 'none; see docs/learning.md'}",
        )
    check_collections(kb, Filters(collections=(prefs.collection,) if prefs.collection else ()))
    if changes:
        set_preferences(kb, owner, prefs)
    if change.consent is not None:
        set_consent(kb, owner, change.consent)
    for document_id in change.revoke:
        revoke(kb, owner, document_id)
    for document_id in change.restore:
        revoke(kb, owner, document_id, again=True)


def rules_of(kb: KnowledgeBase, texts: Sequence[str]) -> tuple[SourceRule, ...]:
    """Parse rules written ``KIND:VALUE``; a document may be given by its title."""
    rules = []
    for text in texts:
        name, _, value = (part.strip() for part in text.partition(":"))
        kind = next((kind for kind in KINDS if kind == name), None)
        if kind is None or not value:
            raise RequestError(
                f"{text!r} is not a rule for sources",
                hint=f"write KIND:VALUE with a KIND of {', '.join(KINDS)}",
            )
        # The preferences page writes a document as ``ID # TITLE``.
        document_id = value.partition(" # ")[0]
        if kind == "document" and kb.catalogue.facts({document_id}):
            value = document_id
        elif kind == "document":
            ids = [entry.id for entry in kb.catalogue.listings.titles(()) if entry.title == value]
            if len(ids) != 1:
                why = "several documents have" if ids else "no document has"
                raise RequestError(f"{why} the title {value!r}", hint="give the id of a document")
            value = ids[0]
        rules.append(SourceRule(kind=kind, value=value))
    return tuple(dict.fromkeys(rules))


def format_rule(rule: NamedRule) -> str:
    """Format a rule as ``document:“Title”`` or ``site:example.org``."""
    return f"{rule.rule.kind}:{f'“{rule.title}”' if rule.title else rule.rule.value}"
