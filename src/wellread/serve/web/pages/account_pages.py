"""Routes of the account pages: sign-in, sign-out, password, API keys and deletion."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Annotated, Any, cast
from urllib.parse import urlsplit

from anyio import to_thread
from fastapi import Depends, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from wellread.errors import RequestError, UnknownNameError
from wellread.ingest.remove import forget_user
from wellread.serve.error_shapes import Problem, ProblemError, problem_of, problem_of_status
from wellread.serve.features.people import NewKeyBody, new_key
from wellread.serve.guards.refusals import TOO_MANY_REQUESTS, retry_seconds
from wellread.serve.guards.route_rules import kb_for, kept_in_state
from wellread.serve.guards.sign_in import COOKIE, SIGN_IN, Authenticator, address_of_client
from wellread.serve.web.identity_provider import IdentityProvider, ProviderError, ProviderGoneError
from wellread.serve.web.rendering import page_router, render_page
from wellread.store.catalogue.accounts.sign_in_records import (
    REFUSED_SIGN_IN,
    SIGNED_IN,
    SIGNED_OUT,
    NewEntry,
)
from wellread.store.catalogue.accounts.user_records import plain_name
from wellread.store.schema.stored_values import SCOPES, SCOPES_OF, Rights, User

router = page_router("open")
anybody, own = router.requiring("open", "own")
ATTEMPT_COOKIE = "wellread_attempt"
CALLBACK = f"{SIGN_IN}/oidc/callback"
ATTEMPT_SECONDS = 600
WRONG_PASSWORD = problem_of_status(401, "The name or the password is wrong.", "Try again.")
EXPIRED_ATTEMPT = problem_of_status(
    400, "The sign-in took too long or was started in another browser.", "Please try again."
)
NO_ACCOUNT = problem_of_status(
    403, "You have no account here, or it is disabled.", "Ask an admin of this server."
)


def _rights(request: Request) -> Rights:
    return cast(Rights, request.state.rights)


Auth = Annotated[Authenticator, kept_in_state("authenticator")]
CurrentRights = Annotated[Rights, Depends(_rights)]


@anybody.get(SIGN_IN)
def sign_in_page(request: Request, rights: CurrentRights, next: str = "") -> Response:
    """The sign-in form."""
    if rights.user is not None:
        return RedirectResponse(own_path(next), status_code=303)
    return _form(request, next)


@anybody.post(SIGN_IN)
async def sign_in(
    request: Request,
    auth: Auth,
    name: Annotated[str, Form(max_length=200)],
    password: Annotated[str, Form(max_length=2_000)],
    next: Annotated[str, Form(max_length=2_000)] = "",
) -> Response:
    """Check the password and sign the browser in."""
    address = address_of_client(request.scope)
    try:
        user = await auth.user_signing_in(name, password, address)
    except ProblemError as error:
        return _form(request, next, error.problem)
    if user is None:
        await to_thread.run_sync(_log_failure, auth, name, address)
        return _form(request, next, WRONG_PASSWORD)
    return await _signed_in(request, auth, user, next)


@anybody.get(f"{SIGN_IN}/oidc")
async def to_provider(request: Request, auth: Auth, next: str = "") -> Response:
    """Redirect the browser to the identity provider."""
    try:
        provider = _provider(request)
        address, attempt = await provider.begin(_callback(request), own_path(next))
    except ProviderError as error:
        return _form(request, next, _provider_problem(error))
    secret = await to_thread.run_sync(auth.accounts.attempts.begin, attempt)
    response = RedirectResponse(address, status_code=303)
    _set_cookie(request, response, ATTEMPT_COOKIE, secret, CALLBACK, ATTEMPT_SECONDS)
    return response


@anybody.get(CALLBACK)
async def from_provider(
    request: Request,
    auth: Auth,
    code: str = "",
    state: str = "",
    error: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Sign in the user who returns from the identity provider."""
    secret = request.cookies.get(ATTEMPT_COOKIE, "")
    attempt = await to_thread.run_sync(auth.accounts.attempts.take, secret)
    if attempt is None or state != attempt.state or not (code or error):
        return _form(request, "", EXPIRED_ATTEMPT)
    try:
        if error:
            raise ProviderError(f"the identity provider refused the sign-in: {error}")
        identity = await _provider(request).finish(code, attempt, _callback(request))
    except ProviderError as refused:
        return _form(request, attempt.target, _provider_problem(refused))
    role = auth.settings.oidc.role or None
    user = await to_thread.run_sync(auth.accounts.from_provider.enter, identity, role)
    if user is None:
        return _form(request, attempt.target, NO_ACCOUNT)
    response = await _signed_in(request, auth, user, attempt.target)
    response.delete_cookie(ATTEMPT_COOKIE, path=CALLBACK)
    return response


@anybody.post("/sign-out")
async def sign_out(request: Request, auth: Auth, rights: CurrentRights) -> Response:
    """Sign this browser out."""
    if rights.user is not None and rights.session_id:
        await to_thread.run_sync(auth.accounts.sessions.end, rights.session_id, rights.user.id)
        await to_thread.run_sync(_note, auth, request, SIGNED_OUT, rights.user)
    return _signed_out()


def _signed_out() -> Response:
    response = RedirectResponse(SIGN_IN, status_code=303)
    response.delete_cookie(COOKIE, path="/")
    return response


def own_path(target: str) -> str:
    """``target`` if it is a path of this server; otherwise the home page."""
    parts = urlsplit(target)
    path = target if not parts.scheme and not parts.netloc else ""
    plain = path.startswith("/") and not path.startswith("//") and "\\" not in path
    return path if plain and path.isprintable() else "/"


async def _signed_in(request: Request, auth: Authenticator, user: User, target: str) -> Response:
    lifetime = timedelta(days=auth.settings.users.session_days)
    agent = request.headers.get("user-agent", "")
    secret = await to_thread.run_sync(auth.accounts.sessions.begin, user.id, lifetime, agent)
    await to_thread.run_sync(_note, auth, request, SIGNED_IN, user)
    response = RedirectResponse(own_path(target), status_code=303)
    _set_cookie(request, response, COOKIE, secret, "/", int(lifetime.total_seconds()))
    return response


def _set_cookie(
    request: Request, response: Response, name: str, secret: str, path: str, seconds: int
) -> None:
    https = request.url.scheme == "https"
    response.set_cookie(
        name, secret, max_age=seconds, path=path, secure=https, httponly=True, samesite="lax"
    )


def _form(request: Request, target: str, problem: Problem | None = None) -> Response:
    values = {
        "target": own_path(target),
        "provider": request.app.state.identity_provider is not None,
    }
    page = render_page(request, "accounts/sign_in.html", values, problem=problem)
    if problem is not None and problem.status == TOO_MANY_REQUESTS:
        page.headers["retry-after"] = str(retry_seconds(problem))
    return page


def _provider_problem(error: ProviderError) -> Problem:
    status = 502 if isinstance(error, ProviderGoneError) else 401
    return problem_of_status(status, str(error.args[0]), error.hint or "Please try again.")


def _provider(request: Request) -> IdentityProvider:
    provider: IdentityProvider | None = request.app.state.identity_provider
    if provider is None:
        raise UnknownNameError("no identity provider is configured", hint="set oidc.issuer")
    return provider


def _callback(request: Request) -> str:
    return f"{request.url.scheme}://{request.url.netloc}{CALLBACK}"


def _log_failure(auth: Authenticator, name: str, address: str) -> None:
    # Unknown names are not logged: people type passwords into that field.
    entered_name = plain_name(name, strict=False)
    user_id = next(
        (user.id for user in auth.accounts.users.list_all() if user.name == entered_name), ""
    )
    entry = NewEntry(
        action=REFUSED_SIGN_IN, user_id=user_id, address=address, outcome="wrong password"
    )
    auth.accounts.audit.write(entry)


def _note(auth: Authenticator, request: Request, action: str, user: User) -> None:
    address = address_of_client(request.scope)
    auth.accounts.audit.write(NewEntry(action=action, user_id=user.id, address=address))


MAX_KEY_DAYS = 3650
Fields = Annotated[list[str], Form()]


@own.get("/account")
def account(request: Request, auth: Auth, rights: CurrentRights) -> Response:
    """The user's own account page."""
    return _page(request, auth, rights)


@own.post("/account/password")
async def password(
    request: Request,
    auth: Auth,
    rights: CurrentRights,
    current: Annotated[str, Form(max_length=2_000)],
    new: Annotated[str, Form(max_length=2_000)],
    again: Annotated[str, Form(max_length=2_000)],
) -> Response:
    """Change the password; all browsers have to sign in again."""
    user = own_user(rights)
    try:
        if new != again:
            raise RequestError("the two new passwords differ", hint="type the same password twice")
        if await auth.user_signing_in(user.name, current, address_of_client(request.scope)) is None:
            raise RequestError("the current password is wrong")
        await auth.run_hashing(partial(auth.accounts.users.set_password, user.id, user.name, new))
    except RequestError as error:
        return await to_thread.run_sync(partial(_page, request, auth, rights, problem=error))
    return _signed_out()


@own.post("/account/keys")
def add_key(
    request: Request,
    auth: Auth,
    rights: CurrentRights,
    name: Annotated[str, Form(max_length=100)] = "",
    days: Annotated[str, Form(max_length=10)] = "0",
    scope: Fields = [],  # noqa: B006 - FastAPI copies it
    collection: Fields = [],  # noqa: B006
) -> Response:
    """Create an API key and show it once; ``days``: until it expires, 0: never."""
    typed = {"name": name, "days": days, "scopes": scope, "collections": collection}
    try:
        if not name.strip():
            raise RequestError("the key has no name", hint="say what it is for")
        if not days.isdecimal() or int(days) > MAX_KEY_DAYS:
            raise RequestError(f"{days!r} is not a number of days", hint=f"0 to {MAX_KEY_DAYS}")
        made = new_key(auth.accounts, own_user(rights), name, scope, collection, int(days) or None)
    except RequestError as error:
        return _page(request, auth, rights, problem=error, typed=typed)
    return _page(request, auth, rights, made)


@own.post("/account/keys/{key_id}/revoke")
def revoke_key(auth: Auth, rights: CurrentRights, key_id: str) -> Response:
    """Revoke one of the user's keys."""
    auth.accounts.keys.revoke(key_id, own_user(rights).id)
    return RedirectResponse("/account", status_code=303)


@own.post("/account/sessions/end")
def end_sessions(auth: Auth, rights: CurrentRights) -> Response:
    """Sign out all of the user's browsers."""
    auth.accounts.sessions.end_all(own_user(rights).id)
    return RedirectResponse("/account", status_code=303)


@own.post("/account/forget")
def forget(
    request: Request,
    auth: Auth,
    rights: CurrentRights,
    confirmed: Annotated[str, Form(max_length=100)] = "",
) -> Response:
    """Delete the user's account with all questions, ratings and preferences."""
    user = own_user(rights)
    if confirmed.strip().casefold() != user.name:
        error = RequestError("nothing was removed: the name is wrong", hint="type your name")
        return _page(request, auth, rights, problem=error)
    forget_user(request.app.state.kb, user.id)
    return _signed_out()


def own_user(rights: Rights) -> User:
    """The signed-in user."""
    if rights.user is None:
        raise RequestError(
            "there are no users", hint="create the first: wellread users add NAME --role admin"
        )
    return rights.user


def _page(
    request: Request,
    auth: Authenticator,
    rights: Rights,
    new: NewKeyBody | None = None,
    *,
    problem: RequestError | None = None,
    typed: Mapping[str, Any] | None = None,
) -> Response:
    user, reads = own_user(rights), rights.asker.reads
    values = {
        "user": user,
        "groups": [group.name for group in auth.accounts.groups.of(user.id)],
        "reads_all": not isinstance(reads, frozenset),
        "collections": kb_for(request).catalogue.collection_names(),
        "keys": auth.accounts.keys.of(user.id),
        "new": new,
        "scopes": [scope for scope in SCOPES if scope in SCOPES_OF[user.role]],
        "typed": typed or {"name": "", "days": "90", "scopes": ["read", "ask"], "collections": []},
    }
    shown = problem_of(problem) if problem else None
    return render_page(request, "accounts/account.html", values, problem=shown)
