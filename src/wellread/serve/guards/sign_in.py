"""Authentication and authorisation of each request, with rate limits and the audit log.

Only this module decides which user a request belongs to. It sets ``asker`` (an ``Asker``: the owner
and their read rights) and ``rights`` (all their rights) in the request's state. Without accounts,
everybody on this machine has all rights, and other machines cannot reach the server.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, TypeVar
from urllib.parse import quote

from anyio import CapacityLimiter, to_thread
from fastapi import Request
from fastapi.responses import RedirectResponse
from limits import RateLimitItem, parse_many
from limits.errors import ConfigurationError
from limits.storage import storage_from_string
from limits.strategies import FixedWindowRateLimiter, MovingWindowRateLimiter, RateLimiter
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wellread.config import Settings, UsersSettings
from wellread.errors import SettingsError
from wellread.identity import LOCAL, NOBODY
from wellread.serve.error_shapes import Problem, ProblemError, problem_of_status
from wellread.serve.guards.refusals import ErrorResponses, Guard
from wellread.serve.guards.route_rules import (
    MCP_PATH,
    READING_METHODS,
    Access,
    RouteRules,
    WorkQueue,
    opened_ids,
    route_of,
)
from wellread.store.catalogue.accounts.sign_in_records import CHANGED, OPENED, Accounts, NewEntry
from wellread.store.catalogue.accounts.user_records import local_rights, plain_name
from wellread.store.schema.stored_values import REMOVED, Rights, User

LimitName = Literal["request", "ask", "name", "address"]
ADDRESS_FACTOR = 4  # the limit per address, divided by that per name: an office shares one
HOUR_FACTOR = 20  # the limit per hour, divided by the limit per minute


class RateLimits:
    """Rate limits for requests, questions and failed sign-ins."""

    def __init__(self, settings: UsersSettings) -> None:
        tries = settings.tries_per_minute
        minutes: dict[LimitName, int] = {
            "request": settings.requests_per_minute,
            "ask": settings.asks_per_minute,
        }
        self._items: dict[LimitName, list[RateLimitItem]] = {
            name: parse_many(f"{limit}/minute") if limit else [] for name, limit in minutes.items()
        }
        failed: dict[LimitName, int] = {"name": tries, "address": tries * ADDRESS_FACTOR}
        for name, limit in failed.items():
            self._items[name] = parse_many(f"{limit}/minute;{limit * HOUR_FACTOR}/hour")
        try:
            storage = storage_from_string(settings.limits_storage)
            self._limiter = MovingWindowRateLimiter(storage)
        except (ConfigurationError, ValueError, ImportError) as error:
            raise SettingsError(
                f"users.limits_storage cannot be used: {error}",
                hint="use memory://, or redis://HOST:PORT with the package redis installed",
            ) from error
        # A fixed window, because a try has to be returned; a moving window cannot do that.
        self._try_limiter = FixedWindowRateLimiter(storage)
        self._try_lock = threading.Lock()

    def take(self, limit: LimitName, client: str) -> int | None:
        """Count a request of ``client``; return None if it is allowed, else the seconds to wait."""
        for item in self._items[limit]:
            if not self._limiter.hit(item, limit, client):
                return _seconds_to_wait(self._limiter, item, limit, client)
        return None

    def count_try(self, name: str, address: str) -> int | None:
        """Count a sign-in attempt before its password is checked; returns as ``take`` does.

        A refused attempt is not counted, because its password is not checked.
        """
        counted: list[tuple[RateLimitItem, str, str]] = []
        with self._try_lock:
            for item, limit, client in self._try_counters(name, address):
                counted.append((item, limit, client))
                if not self._try_limiter.hit(item, limit, client):
                    self._uncount(counted)
                    return _seconds_to_wait(self._try_limiter, item, limit, client)
        return None

    def uncount_try(self, name: str, address: str) -> None:
        """Uncount an attempt whose password was right or was not checked."""
        with self._try_lock:
            self._uncount(self._try_counters(name, address))

    def _try_counters(self, name: str, address: str) -> list[tuple[RateLimitItem, str, str]]:
        counters: tuple[tuple[LimitName, str], ...] = (("name", name), ("address", address))
        return [
            (item, f"tried {limit}", client)
            for limit, client in counters
            for item in self._items[limit]
        ]

    def _uncount(self, counted: list[tuple[RateLimitItem, str, str]]) -> None:
        for item, limit, client in counted:
            # If the count is 0, the window in which the attempt was counted is over.
            if self._try_limiter.storage.get(item.key_for(limit, client)) > 0:
                self._try_limiter.hit(item, limit, client, cost=-1)


def _seconds_to_wait(limiter: RateLimiter, item: RateLimitItem, limit: str, client: str) -> int:
    reset = limiter.get_window_stats(item, limit, client).reset_time
    return max(1, math.ceil(reset - time.time()))


T = TypeVar("T")
COOKIE = "wellread_session"
SIGN_IN = "/sign-in"
MAX_LOOKUPS = 8  # rights lookups at once
MAX_HASHES = 2  # password hashes at once
NO_RIGHTS = Rights(user=None, asker=NOBODY, edits=frozenset(), scopes=frozenset())
FORGET_ME = "/account/forget"
NOT_SIGNED_IN = problem_of_status(
    401, "Nobody is signed in.", "Sign in at /sign-in, or send a key: Authorization: Bearer wr_…"
)
BAD_KEY = problem_of_status(
    401,
    "The key is unknown, revoked or expired.",
    "Make one at /account, or with 'wellread users key'.",
)
FORBIDDEN = problem_of_status(
    403, "Your role, or the key, does not allow this.", "Ask an admin of this server."
)
NO_ORIGIN = problem_of_status(
    403,
    "The request has neither an Origin nor a Sec-Fetch-Site header.",
    "Use a browser that sends one of them; programs authenticate with a key.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Authenticator:
    """Finds the rights behind a key, cookie or password, within the rate limits.

    Attributes:
        sign_in_required: whether sign-in is required even while there are no users.
        lookups: threads for authentication alone, so that running work never delays it.
        hashes: the queue for password hashes, each of which takes 64 MiB and most of a core.
    """

    accounts: Accounts
    settings: Settings
    rates: RateLimits
    rules: RouteRules
    sign_in_required: bool = False
    lookups: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(MAX_LOOKUPS))
    hashes: WorkQueue = field(default_factory=lambda: WorkQueue(MAX_HASHES, "passwords are hashed"))

    async def run_hashing(self, work: Callable[[], T]) -> T:
        """Run ``work``, which hashes a password, when the queue allows it."""
        async with self.hashes.turn():
            return await to_thread.run_sync(work, limiter=self.lookups)

    async def user_signing_in(self, name: str, password: str, address: str) -> User | None:
        """Return the user with this name and password if they may sign in, else None.

        The attempt is counted before the password is checked, so that parallel guesses get no more
        answers than sequential ones; a correct password returns the attempt.
        """
        plain = plain_name(name, strict=False)
        in_thread = partial(to_thread.run_sync, limiter=self.lookups)
        pause = await in_thread(self.rates.count_try, plain, address)
        if pause is not None:
            raise ProblemError(rate_limit_problem(pause))
        try:
            user = await self.run_hashing(partial(self.accounts.users.authenticate, name, password))
        except ProblemError:
            await in_thread(self.rates.uncount_try, plain, address)
            raise
        if user is not None:
            await in_thread(self.rates.uncount_try, plain, address)
        return user

    def authenticate(self, bearer: str | None, cookie: str) -> Rights | None:
        """Return the rights of this key or session cookie; None when neither is valid."""
        if not self.sign_in_required and not self.accounts.users.any():
            return local_rights(LOCAL)
        if bearer is not None:
            key = self.accounts.keys.authenticate(bearer)
            user = self.accounts.users.get(key.user_id) if key else None
            return self.accounts.rights.of(user, key) if user else None
        session = self.accounts.sessions.authenticate(cookie) if cookie else None
        user = self.accounts.users.get(session.user_id) if session else None
        return self.accounts.rights.of(user, session_id=session.id) if user and session else None

    def pause(self, rights: Rights, access: Access) -> int | None:
        """Return the seconds that a user or their key has to wait; None if they may continue."""
        key_or_user = rights.key_id or rights.asker.owner
        limits: tuple[LimitName, ...] = ("request", "ask") if access == "ask" else ("request",)
        pauses = [self.rates.take(limit, key_or_user) for limit in limits]
        return max((seconds for seconds in pauses if seconds is not None), default=None)


class SignIn(Guard):
    """Authenticates each request and attaches its rights; refuses what they do not allow."""

    def __init__(self, app: ASGIApp, auth: Authenticator, responses: ErrorResponses) -> None:
        super().__init__(app, responses)
        self.auth = auth

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its rights, or refuse it; write the audit log."""
        request = Request(scope)
        path, access = self.auth.rules.of(scope)
        state = scope.setdefault("state", {})
        bearer, cookie = bearer_of(scope), request.cookies.get(COOKIE, "")
        rights = await to_thread.run_sync(
            self.auth.authenticate, bearer, cookie, limiter=self.auth.lookups
        )
        if rights is None and access != "open":
            await self._send_to_sign_in(request, bearer, receive, send)
            return
        rights = rights or NO_RIGHTS
        state["asker"], state["rights"] = rights.asker, rights
        problem = await self._refusal(rights, access, scope)
        if problem is not None:
            await self._write_to_audit_log(request, path, access, rights, str(problem.status))
            await self.responses.send(problem, scope, receive, send)
            return
        status = 500

        async def send_and_note_status(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self.app(scope, receive, send_and_note_status)
        finally:
            outcome = "" if status < 400 else str(status)
            await self._write_to_audit_log(request, path, access, rights, outcome)

    async def _refusal(self, rights: Rights, access: Access, scope: Scope) -> Problem | None:
        """Return why an authenticated request is refused; None if it is allowed."""
        if access == "open" or rights.user is None:
            return None
        allowed = bool(rights.session_id) if access == "own" else access in rights.scopes
        if route_of(scope) == MCP_PATH and "read" not in rights.scopes:
            allowed = False  # its tools need both: some read, one asks
        if not allowed and (access != "own" or route_of(scope)):
            return FORBIDDEN
        is_change = scope["method"] not in READING_METHODS
        if rights.session_id and is_change and not has_origin_header(scope):
            return NO_ORIGIN
        pause = await to_thread.run_sync(self.auth.pause, rights, access, limiter=self.auth.lookups)
        return None if pause is None else rate_limit_problem(pause)

    async def _send_to_sign_in(
        self, request: Request, bearer: str | None, receive: Receive, send: Send
    ) -> None:
        if self.responses.wants_page(request) and bearer is None:
            response = RedirectResponse(sign_in_url(request), status_code=303)
            await response(request.scope, receive, send)
            return
        challenge = 'Bearer error="invalid_token"' if bearer is not None else "Bearer"
        problem = BAD_KEY if bearer is not None else NOT_SIGNED_IN
        headers = {"www-authenticate": challenge}
        await self.responses.send(problem, request.scope, receive, send, headers)

    async def _write_to_audit_log(
        self, request: Request, path: str, access: Access, rights: Rights, outcome: str
    ) -> None:
        """Write what a user changed, opened or was refused into the audit log."""
        if rights.user is None or not path:
            return
        entry = _audit_entry(request, path, access, rights, outcome)
        if entry is not None:
            write = self.auth.accounts.audit.write
            await to_thread.run_sync(write, entry, limiter=self.auth.lookups)


def _audit_entry(
    request: Request, path: str, access: Access, rights: Rights, outcome: str
) -> NewEntry | None:
    scope = request.scope
    facts: dict[str, Any] = {
        "user_id": rights.asker.owner,
        "key_id": rights.key_id,
        "address": address_of_client(scope),
        "outcome": outcome,
    }
    if path == FORGET_ME and not outcome:
        facts |= {"user_id": REMOVED, "key_id": "", "address": ""}
    if (opened := opened_ids(request)) and not outcome:
        return NewEntry(action=OPENED, target=path, documents=tuple(dict.fromkeys(opened)), **facts)
    changes = scope["method"] not in READING_METHODS and access in ("edit", "admin", "own")
    if changes or outcome == "403":
        changed_thing = scope.get("state", {}).get("changed", "")
        target = f"{scope['method']} {scope['path']} {changed_thing}".strip()
        return NewEntry(action=CHANGED, target=target, **facts)
    return None


def bearer_of(scope: Scope) -> str | None:
    """Return the key in the header ``Authorization``; None if there is none."""
    kind, _, key = Headers(scope=scope).get("authorization", "").partition(" ")
    return key.strip() if kind.lower() == "bearer" else None


def has_origin_header(scope: Scope) -> bool:
    """Whether the browser sent the page's origin, which ``ForeignRequests`` has checked."""
    headers = Headers(scope=scope)
    return "sec-fetch-site" in headers or "origin" in headers


def address_of_client(scope: Scope) -> str:
    """Return the network address of the client; empty when it is unknown."""
    client = scope.get("client")
    return str(client[0]) if client else ""


def sign_in_url(request: Request) -> str:
    """Return the URL of the sign-in page, which leads back to the requested page."""
    if request.method not in READING_METHODS or request.url.path == "/":
        return SIGN_IN
    target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return f"{SIGN_IN}?next={quote(target, safe='')}"


def rate_limit_problem(pause: int) -> Problem:
    """Return the 429 problem for a client that exceeded its rate limit."""
    detail = "Too many requests in a short time."
    return replace(problem_of_status(429, detail, f"Try again in {pause} seconds."), wait=pause)
