"""The own account: password, keys, browsers that are signed in, and being forgotten."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import Field

from wellread.errors import RequestError
from wellread.ingest.remove import forget_user
from wellread.serve.api.queries import StrictModel
from wellread.serve.features.accounts.account_bodies import KeyBody, NewKeyBody, new_key
from wellread.serve.features.bodies import PlainBody
from wellread.serve.guards.sign_in import COOKIE, SIGN_IN, Door, address_of_client
from wellread.serve.web.pages.accounts.sign_in_pages import Doorway, Held
from wellread.serve.web.rendering import shown
from wellread.store.schema.stored_values import SCOPES, SCOPES_OF, Rights, User

router = APIRouter(include_in_schema=False)


class BrowserBody(PlainBody):
    """A browser that is signed in; ``current``: this one."""

    id: str
    agent: str
    created_at: datetime
    used_at: datetime
    current: bool


class AccountBody(PlainBody):
    """Somebody's own account."""

    name: str
    role: str
    local: bool
    groups: tuple[str, ...]
    collections: tuple[str, ...] | None
    keys: tuple[KeyBody, ...]
    browsers: tuple[BrowserBody, ...]


class KeyForm(StrictModel):
    """A key that is asked for; ``days``: until it expires, 0: never."""

    name: str = Field(min_length=1, max_length=100)
    scope: list[str] = Field(default=[])
    days: int = Field(default=0, ge=0, le=3650)
    collections: str = Field(default="", max_length=2_000)


@router.get("/account")
def account(request: Request, door: Doorway, held: Held) -> Response:
    """Everything about the own account."""
    return _page(request, door, held)


@router.post("/account/password")
async def password(
    request: Request,
    door: Doorway,
    held: Held,
    current: Annotated[str, Form(max_length=2_000)],
    new: Annotated[str, Form(max_length=2_000)],
    again: Annotated[str, Form(max_length=2_000)],
) -> Response:
    """Change the password; every browser has to sign in again.

    Raises:
        RequestError: the current one is wrong, or the new one is too weak.
        ProblemError: too many wrong ones were given, or too many wait already.
    """
    user = own_user(held)
    if new != again:
        raise RequestError("the two new passwords differ", hint="type the same twice")
    if await door.opened_by(user.name, current, address_of_client(request.scope)) is None:
        raise RequestError("the current password is wrong")
    await door.hashed(partial(door.accounts.users.set_password, user.id, user.name, new))
    response = RedirectResponse(SIGN_IN, status_code=303)
    response.delete_cookie(COOKIE, path="/")
    return response


@router.post("/account/keys")
def add_key(
    request: Request, door: Doorway, held: Held, asked: Annotated[KeyForm, Form()]
) -> Response:
    """Make a key and show it, this once."""
    named = [one.strip() for one in asked.collections.split(",") if one.strip()]
    made = new_key(
        door.accounts, own_user(held), asked.name, asked.scope, named, asked.days or None
    )
    return _page(request, door, held, made)


@router.post("/account/keys/{key_id}/revoke")
def revoke_key(door: Doorway, held: Held, key_id: str) -> Response:
    """Let an own key open nothing any more."""
    door.accounts.keys.revoke(key_id, own_user(held).id)
    return RedirectResponse("/account", status_code=303)


@router.post("/account/sessions/end")
def end_sessions(
    door: Doorway, held: Held, session: Annotated[str, Form(max_length=100)] = ""
) -> Response:
    """Sign one browser out, or all of them."""
    user = own_user(held)
    if session:
        door.accounts.sessions.end(session, user.id)
    else:
        door.accounts.sessions.end_all(user.id)
    return RedirectResponse("/account", status_code=303)


@router.post("/account/forget")
def forget(
    request: Request, held: Held, confirmed: Annotated[str, Form(max_length=100)] = ""
) -> Response:
    """Remove the own account and all that it asked, rated and preferred.

    Raises:
        RequestError: the name was not typed, or it is the last admin.
    """
    user = own_user(held)
    if confirmed.strip().casefold() != user.name:
        raise RequestError("nothing was removed: the name was not typed", hint="type your name")
    forget_user(request.app.state.kb, user.id)
    response = RedirectResponse(SIGN_IN, status_code=303)
    response.delete_cookie(COOKIE, path="/")
    return response


def own_user(held: Rights) -> User:
    """Who is signed in.

    Raises:
        RequestError: nobody is, since there are no users.
    """
    if held.user is None:
        raise RequestError(
            "there are no users here", hint="make the first: wellread users add NAME --role admin"
        )
    return held.user


def _page(request: Request, door: Door, held: Rights, made: NewKeyBody | None = None) -> Response:
    user = own_user(held)
    reads = held.asker.reads
    body = AccountBody.of(
        user,
        groups=tuple(one.name for one in door.accounts.groups.of(user.id)),
        collections=tuple(sorted(reads)) if isinstance(reads, frozenset) else None,
        keys=tuple(KeyBody.of(one) for one in door.accounts.keys.of(user.id)),
        browsers=tuple(
            BrowserBody.of(one, current=one.id == held.session_id)
            for one in door.accounts.sessions.of(user.id)
        ),
    )
    scopes = [one for one in SCOPES if one in SCOPES_OF[user.role]]
    return shown(request, "accounts/account.html", body, made=made, scopes=scopes)
