"""Who asks: found before any route, and refused where they may not.

The one place that says whose request it is. It puts into the state of a request ``asker`` (an
``Asker``: whose, and what it may read) and ``rights`` (what else it may). Without users everybody
who reaches the server has all rights, as long as only this machine can.
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
from wellread.serve.guards.incoming import READING
from wellread.serve.guards.refusals import Refusals
from wellread.serve.guards.route_rules import MCP_PATH, Access, RouteRules, opened_by, route_of
from wellread.serve.guards.work_limits import FullError, WorkQueue
from wellread.store.catalogue.accounts.sign_in_records import CHANGED, OPENED, Accounts, Deed
from wellread.store.catalogue.accounts.user_records import local_rights, plain_name
from wellread.store.schema.stored_values import REMOVED, Rights, User

Counted = Literal["request", "ask", "name", "address"]
FROM_ONE_ADDRESS = 4  # times as many failed sign-ins as by one name: an office has one address
HOURS_TRIES = 20  # times as many an hour as a minute


class RateLimits:
    """The limits of one server."""

    def __init__(self, settings: UsersSettings) -> None:
        tries = settings.tries_per_minute
        minutes: dict[Counted, int] = {
            "request": settings.requests_per_minute,
            "ask": settings.asks_per_minute,
        }
        self._items: dict[Counted, list[RateLimitItem]] = {
            what: parse_many(f"{most}/minute") if most else [] for what, most in minutes.items()
        }
        failed: dict[Counted, int] = {"name": tries, "address": tries * FROM_ONE_ADDRESS}
        for what, most in failed.items():
            self._items[what] = parse_many(f"{most}/minute;{most * HOURS_TRIES}/hour")
        try:
            storage = storage_from_string(settings.limits_storage)
            self._limiter = MovingWindowRateLimiter(storage)
        except (ConfigurationError, ValueError, ImportError) as error:
            raise SettingsError(
                f"users.limits_storage cannot be used: {error}",
                hint="memory://, or redis://HOST:PORT with the package redis installed",
            ) from error
        # Counters, which one can be taken back from; a moving window keeps moments.
        self._tries = FixedWindowRateLimiter(storage)
        self._trying = threading.Lock()

    def take(self, what: Counted, who: str) -> int | None:
        """Count one; None when that is allowed, else the seconds to wait."""
        for item in self._items[what]:
            if not self._limiter.hit(item, what, who):
                return _pause(self._limiter, item, what, who)
        return None

    def take_try(self, name: str, address: str) -> int | None:
        """Count a try to sign in, before its password is looked at; as ``take``.

        One that is not allowed is not counted: it is told nothing.
        """
        counted: list[tuple[RateLimitItem, str, str]] = []
        with self._trying:
            for item, what, who in self._tries_of(name, address):
                counted.append((item, what, who))
                if not self._tries.hit(item, what, who):
                    self._take_back(counted)
                    return _pause(self._tries, item, what, who)
        return None

    def give_back(self, name: str, address: str) -> None:
        """The password was right, or was not looked at: the try does not count."""
        with self._trying:
            self._take_back(self._tries_of(name, address))

    def _tries_of(self, name: str, address: str) -> list[tuple[RateLimitItem, str, str]]:
        named: tuple[tuple[Counted, str], ...] = (("name", name), ("address", address))
        return [(item, f"tried {what}", who) for what, who in named for item in self._items[what]]

    def _take_back(self, counted: list[tuple[RateLimitItem, str, str]]) -> None:
        for item, what, who in counted:
            if self._tries.storage.get(item.key_for(what, who)) > 0:  # else its time is over
                self._tries.hit(item, what, who, cost=-1)


def _pause(limiter: RateLimiter, item: RateLimitItem, what: str, who: str) -> int:
    reset = limiter.get_window_stats(item, what, who).reset_time
    return max(1, math.ceil(reset - time.time()))


T = TypeVar("T")
COOKIE = "wellread_session"
SIGN_IN = "/sign-in"
LOOKING = 8  # requests whose rights are looked up at once
HASHED = 2  # passwords that are hashed at once
NO_RIGHTS = Rights(user=None, asker=NOBODY, edits=frozenset(), scopes=frozenset())
FORGET_ME = "/account/forget"
UNKNOWN = problem_of_status(
    401,
    "Nobody is signed in.",
    "Sign in at /sign-in, or send a key: Authorization: Bearer wr_…",
)
BAD_KEY = problem_of_status(
    401,
    "The key is unknown, revoked or expired.",
    "Make one at /account, or with 'wellread users key'.",
)
FORBIDDEN = problem_of_status(
    403, "Your role, or the key, does not allow this.", "Ask an admin of this server."
)
UNPROVED = problem_of_status(
    403,
    "The request does not say which page made it.",
    "Use a browser that sends Origin or Sec-Fetch-Site; programs use a key.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """What the guard knows of one server.

    Attributes:
        demanded: whether users are demanded though there are none: other machines reach it.
        looking: threads of its own, so that nobody waits at the door for what is worked on inside.
        hashing: the queue for passwords, each of which takes 64 MiB and most of a core.
    """

    accounts: Accounts
    settings: Settings
    rates: RateLimits
    rules: RouteRules
    demanded: bool = False
    looking: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(LOOKING))
    hashing: WorkQueue = field(default_factory=lambda: WorkQueue(HASHED, "passwords are hashed"))

    async def hashed(self, work: Callable[[], T]) -> T:
        """``work``, which hashes a password, when it is its turn."""
        try:
            async with self.hashing.turn():
                return await to_thread.run_sync(work, limiter=self.looking)
        except FullError as error:
            raise ProblemError(error.problem) from error

    async def opened_by(self, name: str, password: str, address: str) -> User | None:
        """The user who has this name and password, and may sign in; else None.

        The try is counted before the password is looked at, so that of many at once no more are
        told anything than one after the other; it is given back when it was right.
        """
        tried = plain_name(name, strict=False)
        in_thread = partial(to_thread.run_sync, limiter=self.looking)
        pause = await in_thread(self.rates.take_try, tried, address)
        if pause is not None:
            raise ProblemError(too_often(pause))
        try:
            user = await self.hashed(partial(self.accounts.users.opened_by, name, password))
        except ProblemError:
            await in_thread(self.rates.give_back, tried, address)
            raise
        if user is not None:
            await in_thread(self.rates.give_back, tried, address)
        return user

    def known(self, bearer: str | None, cookie: str) -> Rights | None:
        """The rights of who shows this key or cookie; None when nobody does who may sign in."""
        if not self.demanded and not self.accounts.users.any():
            return local_rights(LOCAL)
        if bearer is not None:
            key = self.accounts.keys.opened_by(bearer)
            user = self.accounts.users.get(key.user_id) if key else None
            return self.accounts.rights.of(user, key) if user else None
        session = self.accounts.sessions.opened_by(cookie) if cookie else None
        user = self.accounts.users.get(session.user_id) if session else None
        return self.accounts.rights.of(user, session_id=session.id) if user and session else None

    def pause(self, rights: Rights, access: Access) -> int | None:
        """Seconds that a user, or their key, has to wait; None when they need not."""
        who = rights.key_id or rights.asker.owner
        kinds: tuple[Counted, ...] = ("request", "ask") if access == "ask" else ("request",)
        pauses = [self.rates.take(kind, who) for kind in kinds]
        return max((one for one in pauses if one is not None), default=None)


class SignIn:
    """Lets in who may come in, and says whose request it is."""

    def __init__(self, app: ASGIApp, door: Door, refusals: Refusals) -> None:
        self.app = app
        self.door = door
        self.refusals = refusals

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its rights, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        path, access = self.door.rules.of(scope)
        state = scope.setdefault("state", {})
        bearer, cookie = bearer_of(scope), request.cookies.get(COOKIE, "")
        rights = await to_thread.run_sync(
            self.door.known, bearer, cookie, limiter=self.door.looking
        )
        if rights is None and access != "open":
            await self._send_to_sign_in(request, bearer, receive, send)
            return
        rights = rights or NO_RIGHTS
        state["asker"], state["rights"] = rights.asker, rights
        problem = await self._refusal(rights, access, scope)
        if problem is not None:
            await self._note(request, path, access, rights, str(problem.status))
            await self.refusals.refuse(problem, scope, receive, send)
            return
        status = _Status(send)
        try:
            await self.app(scope, receive, status.send)
        finally:
            outcome = "" if status.code < 400 else str(status.code)
            await self._note(request, path, access, rights, outcome)

    async def _refusal(self, rights: Rights, access: Access, scope: Scope) -> Problem | None:
        """Why somebody who is known may not; None when they may."""
        if access == "open" or rights.user is None:
            return None
        allowed = bool(rights.session_id) if access == "own" else access in rights.scopes
        if route_of(scope) == MCP_PATH and "read" not in rights.scopes:
            allowed = False  # some of its tools only read, one only asks
        if not allowed and (access != "own" or route_of(scope)):
            return FORBIDDEN
        if rights.session_id and scope["method"] not in READING and not says_its_page(scope):
            return UNPROVED
        pause = await to_thread.run_sync(self.door.pause, rights, access, limiter=self.door.looking)
        return None if pause is None else too_often(pause)

    async def _send_to_sign_in(
        self, request: Request, bearer: str | None, receive: Receive, send: Send
    ) -> None:
        if self.refusals.wants_page(request) and bearer is None:
            response = RedirectResponse(sign_in_at(request), status_code=303)
            await response(request.scope, receive, send)
            return
        how = 'Bearer error="invalid_token"' if bearer is not None else "Bearer"
        problem = BAD_KEY if bearer is not None else UNKNOWN
        headers = {"www-authenticate": how}
        await self.refusals.refuse(problem, request.scope, receive, send, headers)

    async def _note(
        self, request: Request, path: str, access: Access, rights: Rights, outcome: str
    ) -> None:
        """Write down what a user changed, was refused, or opened."""
        if rights.user is None or not path:
            return
        deed = _deed(request, path, access, rights, outcome)
        if deed is not None:
            write = self.door.accounts.audit.write
            await to_thread.run_sync(write, deed, limiter=self.door.looking)


class _Status:
    """Passes a response on, and keeps its status."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.code = 500

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.code = message["status"]
        await self._send(message)


def _deed(request: Request, path: str, access: Access, rights: Rights, outcome: str) -> Deed | None:
    scope = request.scope
    facts: dict[str, Any] = {
        "user_id": rights.asker.owner,
        "key_id": rights.key_id,
        "address": address_of_client(scope),
        "outcome": outcome,
    }
    if path == FORGET_ME and not outcome:
        facts |= {"user_id": REMOVED, "key_id": "", "address": ""}
    if (shown := opened_by(request)) and not outcome:
        return Deed(action=OPENED, target=path, documents=tuple(dict.fromkeys(shown)), **facts)
    changes = scope["method"] not in READING and access in ("edit", "admin", "own")
    if changes or outcome == "403":
        of = scope.get("state", {}).get("changed", "")
        target = f"{scope['method']} {scope['path']} {of}".strip()
        return Deed(action=CHANGED, target=target, **facts)
    return None


def bearer_of(scope: Scope) -> str | None:
    """The key in the header ``Authorization``; None when it holds none."""
    kind, _, given = Headers(scope=scope).get("authorization", "").partition(" ")
    return given.strip() if kind.lower() == "bearer" else None


def says_its_page(scope: Scope) -> bool:
    """Whether a browser says which page made the request; that it is ours was looked at before."""
    headers = Headers(scope=scope)
    return "sec-fetch-site" in headers or "origin" in headers


def address_of_client(scope: Scope) -> str:
    """The address that the request comes from; empty where it has none."""
    client = scope.get("client")
    return str(client[0]) if client else ""


def sign_in_at(request: Request) -> str:
    """The page to sign in at, from which who asked comes back to what they asked for."""
    if request.method not in READING or request.url.path == "/":
        return SIGN_IN
    target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return f"{SIGN_IN}?next={quote(target, safe='')}"


def too_often(pause: int) -> Problem:
    """Told to who comes too often."""
    told = "Too many requests in a short time."
    return replace(problem_of_status(429, told, f"Try again in {pause} seconds."), wait=pause)
