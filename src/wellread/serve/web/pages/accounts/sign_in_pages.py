"""Signing in with a password or at an identity provider, and signing out."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, cast
from urllib.parse import urlsplit

from anyio import to_thread
from fastapi import APIRouter, Depends, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from wellread.errors import UnknownNameError
from wellread.serve.error_shapes import Problem, ProblemError, problem_of_status
from wellread.serve.features.accounts.identity_provider import (
    IdentityProvider,
    ProviderError,
    ProviderGoneError,
)
from wellread.serve.guards.refusals import TOO_MANY_REQUESTS, pause_after
from wellread.serve.guards.sign_in import COOKIE, SIGN_IN, Door, address_of_client
from wellread.serve.web.rendering import drawn
from wellread.store.catalogue.accounts.audit_records import (
    REFUSED_SIGN_IN,
    SIGNED_IN,
    SIGNED_OUT,
    Deed,
)
from wellread.store.catalogue.accounts.user_records import plain_name
from wellread.store.schema.account_values import Rights, User

router = APIRouter(include_in_schema=False)

ATTEMPT_COOKIE = "wellread_attempt"
CALLBACK = f"{SIGN_IN}/oidc/callback"
ATTEMPT_SECONDS = 600
WRONG = problem_of_status(401, "The name or the password is wrong.", "Try again.")
LATE = problem_of_status(
    400, "The sign-in took too long, or was begun in another browser.", "Begin again."
)
STRANGER = problem_of_status(
    403, "You have no account here, or it is disabled.", "Ask an admin of this server."
)


def _door(request: Request) -> Door:
    return cast(Door, request.app.state.door)


def _rights(request: Request) -> Rights:
    return cast(Rights, request.state.rights)


Doorway = Annotated[Door, Depends(_door)]
Held = Annotated[Rights, Depends(_rights)]


@router.get(SIGN_IN)
def sign_in_page(request: Request, held: Held, next: str = "") -> Response:
    """The form."""
    if held.user is not None:
        return RedirectResponse(own_path(next), status_code=303)
    return _form(request, next)


@router.post(SIGN_IN)
async def sign_in(
    request: Request,
    door: Doorway,
    name: Annotated[str, Form(max_length=200)],
    password: Annotated[str, Form(max_length=2_000)],
    next: Annotated[str, Form(max_length=2_000)] = "",
) -> Response:
    """Look at the password, and sign the browser in."""
    address = address_of_client(request.scope)
    try:
        user = await door.opened_by(name, password, address)
    except ProblemError as error:
        return _form(request, next, error.problem)
    if user is None:
        await to_thread.run_sync(_failed, door, name, address)
        return _form(request, next, WRONG)
    return await _signed_in(request, door, user, next)


@router.get(f"{SIGN_IN}/oidc")
async def to_provider(request: Request, door: Doorway, next: str = "") -> Response:
    """Send the browser to the identity provider."""
    try:
        provider = _provider(request)
        address, attempt = await provider.begin(_callback(request), own_path(next))
    except ProviderError as error:
        return _form(request, next, _told_of(error))
    secret = await to_thread.run_sync(door.accounts.attempts.begin, attempt)
    response = RedirectResponse(address, status_code=303)
    response.set_cookie(
        ATTEMPT_COOKIE,
        secret,
        max_age=ATTEMPT_SECONDS,
        path=CALLBACK,
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax",
    )
    return response


@router.get(CALLBACK)
async def from_provider(
    request: Request,
    door: Doorway,
    code: str = "",
    state: str = "",
    error: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Sign in who comes back from the identity provider."""
    secret = request.cookies.get(ATTEMPT_COOKIE, "")
    attempt = await to_thread.run_sync(door.accounts.attempts.take, secret)
    if attempt is None or state != attempt.state or not (code or error):
        return _form(request, "", LATE)
    try:
        if error:
            raise ProviderError(f"the identity provider signs you in no further: {error}")
        identity = await _provider(request).finish(code, attempt, _callback(request))
    except ProviderError as refused:
        return _form(request, attempt.target, _told_of(refused))
    role = door.settings.oidc.role or None
    user = await to_thread.run_sync(door.accounts.from_provider.enter, identity, role)
    if user is None:
        return _form(request, attempt.target, STRANGER)
    response = await _signed_in(request, door, user, attempt.target)
    response.delete_cookie(ATTEMPT_COOKIE, path=CALLBACK)
    return response


@router.post("/sign-out")
async def sign_out(request: Request, door: Doorway, held: Held) -> Response:
    """Sign this browser out."""
    if held.user is not None and held.session_id:
        await to_thread.run_sync(door.accounts.sessions.end, held.session_id, held.user.id)
        await to_thread.run_sync(_note, door, request, SIGNED_OUT, held.user)
    response = RedirectResponse(SIGN_IN, status_code=303)
    response.delete_cookie(COOKIE, path="/")
    return response


def own_path(given: str) -> str:
    """A path of this server; the front page where it is none."""
    parts = urlsplit(given)
    path = given if not parts.scheme and not parts.netloc else ""
    plain = path.startswith("/") and not path.startswith("//") and "\\" not in path
    return path if plain and path.isprintable() else "/"


async def _signed_in(request: Request, door: Door, user: User, target: str) -> Response:
    lasting = timedelta(days=door.settings.users.session_days)
    agent = request.headers.get("user-agent", "")
    secret = await to_thread.run_sync(door.accounts.sessions.begin, user.id, lasting, agent)
    await to_thread.run_sync(_note, door, request, SIGNED_IN, user)
    response = RedirectResponse(own_path(target), status_code=303)
    response.set_cookie(
        COOKIE,
        secret,
        max_age=int(lasting.total_seconds()),
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax",
    )
    return response


def _form(request: Request, target: str, problem: Problem | None = None) -> Response:
    values = {
        "problem": problem,
        "target": own_path(target),
        "provider": request.app.state.identity_provider is not None,
    }
    page = drawn(
        request, "accounts/sign_in.html", values, status=problem.status if problem else 200
    )
    if problem is not None and problem.status == TOO_MANY_REQUESTS:
        page.headers["retry-after"] = str(pause_after(problem))
    return page


def _told_of(error: ProviderError) -> Problem:
    status = 502 if isinstance(error, ProviderGoneError) else 401
    return problem_of_status(status, str(error.args[0]), error.hint or "Begin again.")


def _provider(request: Request) -> IdentityProvider:
    provider: IdentityProvider | None = request.app.state.identity_provider
    if provider is None:
        raise UnknownNameError("no identity provider is set", hint="set oidc.issuer")
    return provider


def _callback(request: Request) -> str:
    return f"{request.url.scheme}://{request.url.netloc}{CALLBACK}"


def _failed(door: Door, name: str, address: str) -> None:
    # Of an unknown name nothing is kept: people type passwords into that field.
    tried = plain_name(name, strict=False)
    known = next((one.id for one in door.accounts.users.every() if one.name == tried), "")
    deed = Deed(action=REFUSED_SIGN_IN, user_id=known, address=address, outcome="wrong password")
    door.accounts.audit.write(deed)


def _note(door: Door, request: Request, action: str, user: User) -> None:
    address = address_of_client(request.scope)
    door.accounts.audit.write(Deed(action=action, user_id=user.id, address=address))
