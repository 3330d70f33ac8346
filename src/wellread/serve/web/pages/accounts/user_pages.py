"""All users, groups and grants, and the audit log: for admins."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from anyio import to_thread
from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import Field

from wellread.errors import RequestError, UnknownNameError
from wellread.ingest.remove import forget_user
from wellread.serve.api.queries import StrictModel
from wellread.serve.features.accounts.account_bodies import (
    AuditBody,
    GrantBody,
    GroupBody,
    UserBody,
    user_bodies,
)
from wellread.serve.features.bodies import PlainBody
from wellread.serve.guards.sign_in import Door
from wellread.serve.web.pages.accounts.sign_in_pages import Doorway
from wellread.serve.web.rendering import PageFormat, shown
from wellread.store.schema.stored_values import ROLES, Role, User, UserGroup

router = APIRouter(include_in_schema=False)

Named = Annotated[str, Form(min_length=1, max_length=200)]
Change = Literal["role", "disable", "enable", "password", "join", "leave", "sign_out"]


class UsersBody(PlainBody):
    """Everybody, and what is open to whom."""

    users: tuple[UserBody, ...]
    groups: tuple[GroupBody, ...]
    grants: tuple[GrantBody, ...]


class AuditQuery(StrictModel, PageFormat):
    """Which part of the log: of one user, one action, about one document."""

    user: str = ""
    action: str = ""
    document: str = ""
    limit: int = Field(default=100, ge=1, le=1_000)


class AuditLogBody(PlainBody):
    """Entries, the newest first."""

    entries: tuple[AuditBody, ...]


@router.get("/users")
def users(request: Request, door: Doorway, _asked: Annotated[PageFormat, Query()]) -> Response:
    """All users, groups and grants."""
    accounts = door.accounts
    body = UsersBody(
        users=tuple(user_bodies(accounts)),
        groups=tuple(GroupBody.of(one) for one in accounts.groups.every()),
        grants=tuple(GrantBody.of(one) for one in accounts.grants.every()),
    )
    names = request.app.state.kb.catalogue.collection_names()
    return shown(request, "accounts/users.html", body, roles=ROLES, collections=names)


@router.post("/users")
async def add_user(
    request: Request,
    door: Doorway,
    name: Named,
    password: Annotated[str, Form(max_length=2_000)],
    role: Annotated[Role, Form()] = "reader",
) -> Response:
    """Make an account."""
    user = await door.hashed(partial(door.accounts.users.add, name, role, password))
    return _back(request, f"{user.id} {role}")


@router.post("/users/{user_id}/change")
async def change_user(
    request: Request,
    door: Doorway,
    user_id: str,
    change: Annotated[Change, Form()],
    value: Annotated[str, Form(max_length=2_000)] = "",
) -> Response:
    """Change one thing of an account."""
    user = await to_thread.run_sync(_user, door, user_id)
    work = partial(_change, door, user, change, value)
    await (door.hashed(work) if change == "password" else to_thread.run_sync(work))
    return _back(request, change)


@router.post("/users/{user_id}/remove")
def remove_user(
    request: Request,
    door: Doorway,
    user_id: str,
    confirmed: Named,
    forget: Annotated[bool, Form()] = False,
) -> Response:
    """Remove an account, or that and all that it left.

    Raises:
        RequestError: the name was not typed, or it is the last admin.
    """
    user = _user(door, user_id)
    if confirmed.strip().casefold() != user.name:
        raise RequestError("nobody was removed: the name was not typed", hint=f"type {user.name}")
    kb = request.app.state.kb
    if forget:
        forget_user(kb, user.id)
    else:
        kb.catalogue.forgetting_users.remove(user.id)
    return _back(request, "forgotten" if forget else "removed")


@router.post("/users/groups")
def add_group(request: Request, door: Doorway, name: Named) -> Response:
    """Make a group."""
    door.accounts.groups.add(name)
    return _back(request, f"group {name}")


@router.post("/users/groups/{group_id}/remove")
def remove_group(request: Request, door: Doorway, group_id: str) -> Response:
    """Remove a group with its grants; its members stay."""
    group = _group(door, group_id)
    door.accounts.groups.remove(group.id)
    return _back(request, f"group {group.name} remove")


@router.post("/users/grants")
def give(
    request: Request,
    door: Doorway,
    collection: Named,
    to: Named,
    role: Annotated[Literal["reader", "editor"], Form()] = "editor",
) -> Response:
    """Open a collection to ``user:NAME`` or ``group:NAME``."""
    holder = _holder(door, to)
    door.accounts.grants.give(collection, role, **holder)
    return _back(request, f"{collection} {role} {' '.join(holder.values())}")


@router.post("/users/grants/take")
def take(request: Request, door: Doorway, collection: Named, to: Named) -> Response:
    """Close it again."""
    holder = _holder(door, to)
    door.accounts.grants.take(collection, **holder)
    return _back(request, f"{collection} {' '.join(holder.values())}")


@router.get("/users/audit")
def audit(request: Request, door: Doorway, asked: Annotated[AuditQuery, Query()]) -> Response:
    """Who did what, the newest first."""
    accounts = door.accounts
    user_id = accounts.users.named(asked.user).id if asked.user.strip() else None
    found = accounts.audit.newest(
        asked.limit, user_id=user_id, action=asked.action, document_id=asked.document
    )
    body = AuditLogBody(entries=tuple(AuditBody.of(one) for one in found))
    return shown(request, "accounts/audit.html", body, asked=asked)


def _change(door: Door, user: User, change: Change, value: str) -> None:
    accounts = door.accounts
    match change:
        case "role":
            role = next((one for one in ROLES if one == value), None)
            if role is None:
                raise RequestError(f"{value!r} is no role", hint=f"one of {', '.join(ROLES)}")
            accounts.users.set_role(user.id, role)
        case "disable" | "enable":
            accounts.users.set_disabled(user.id, change == "disable")
        case "password":
            accounts.users.set_password(user.id, user.name, value)
        case "join":
            accounts.groups.join(accounts.groups.named(value).id, user.id)
        case "leave":
            accounts.groups.leave(accounts.groups.named(value).id, user.id)
        case "sign_out":
            accounts.sessions.end_all(user.id)


def _user(door: Door, user_id: str) -> User:
    found = door.accounts.users.get(user_id)
    if found is None:
        raise UnknownNameError(f"there is no user {user_id}", hint="/users lists them")
    return found


def _group(door: Door, group_id: str) -> UserGroup:
    found = next((one for one in door.accounts.groups.every() if one.id == group_id), None)
    if found is None:
        raise UnknownNameError(f"there is no group {group_id}", hint="/users lists them")
    return found


def _holder(door: Door, to: str) -> dict[str, str]:
    kind, _, name = to.partition(":")
    if kind == "user":
        return {"user_id": door.accounts.users.named(name).id}
    if kind == "group":
        return {"group_id": door.accounts.groups.named(name).id}
    raise RequestError(f"{to!r} is neither a user nor a group", hint="user:NAME or group:NAME")


def _back(request: Request, changed: str) -> Response:
    """Back to the list; ``changed`` goes into the audit log, and names users by their ids only.

    So nothing of their name is left there when they are forgotten.
    """
    request.state.changed = changed
    return RedirectResponse("/users", status_code=303)
