"""Routes of the pages on users: who may sign in, and what each may read and change."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from anyio import to_thread
from fastapi import Form, Request
from fastapi.responses import RedirectResponse, Response

from wellread.errors import RequestError, UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.serve.error_shapes import Problem, problem_of
from wellread.serve.features.people import user_bodies
from wellread.serve.guards.route_rules import WholeKb
from wellread.serve.web.pages.account_pages import Auth
from wellread.serve.web.rendering import page_router, render_page
from wellread.store.schema.stored_values import ALL, Grant, Role, User

router = page_router("admin")
ROLES: Mapping[Role, str] = {
    "reader": "asks and reads",
    "editor": "also adds, removes and rates",
    "admin": "everything, in all collections",
}
ACCESS = {"": "no access", "reader": "may read", "editor": "may read and change"}
Field = Annotated[str, Form(max_length=1_000)]
Names = Annotated[list[str], Form()]


@router.get("/users")
def users_page(kb: WholeKb, request: Request) -> Response:
    """All users with their roles, groups and grants, and the form for a new one."""
    return _list(kb, request)


@router.post("/users")
async def add_user(
    kb: WholeKb,
    auth: Auth,
    request: Request,
    name: Field,
    password: Field,
    role: Annotated[Role, Form()],
) -> Response:
    """Create an account. The first is an admin; from then on everybody has to sign in."""
    try:
        user = await auth.run_hashing(partial(auth.accounts.users.add, name, role, password))
    except RequestError as error:
        typed = {"name": name, "role": role}
        return await to_thread.run_sync(_list, kb, request, typed, problem_of(error))
    request.state.changed = f"users add {user.id} {role}"
    return RedirectResponse(f"/users/{user.id}", status_code=303)


def _list(
    kb: KnowledgeBase,
    request: Request,
    typed: Mapping[str, str] | None = None,
    problem: Problem | None = None,
) -> Response:
    accounts = kb.catalogue.accounts
    users, grants = user_bodies(accounts), accounts.grants.list_all()
    values = {
        "users": [
            (body.user, body.groups, [grant for grant in grants if _is_for(grant, body)])
            for body in users
        ],
        "roles": ROLES,
        "typed": typed or {"name": "", "role": "reader" if users else "admin"},
        "all": ALL,
    }
    return render_page(request, "accounts/users.html", values, problem=problem)


def _is_for(grant: Grant, body: Any) -> bool:
    return grant.user == body.user.name or grant.group in body.groups


@router.get("/users/{user_id}")
def user_page(kb: WholeKb, request: Request, user_id: str) -> Response:
    """One user with role and access, to change."""
    return _one(kb, request, _user(kb, user_id))


@router.post("/users/{user_id}")
def change_user(
    kb: WholeKb,
    request: Request,
    user_id: str,
    role: Annotated[Role, Form()],
    collection: Names = [],  # noqa: B006 - FastAPI copies it
    access: Names = [],  # noqa: B006
    allowed: Annotated[bool, Form()] = False,
) -> Response:
    """Change a user's role and access; effective from their next request."""
    user, accounts = _user(kb, user_id), kb.catalogue.accounts
    wanted = dict(zip(collection, access, strict=False))
    try:
        if role != user.role:
            accounts.users.set_role(user.id, role)
        if allowed == user.disabled:
            accounts.users.set_disabled(user.id, not allowed)
    except RequestError as error:
        return _one(kb, request, user, problem=problem_of(error), typed=(role, allowed, wanted))
    before = _own_grants(kb, user)
    for name, given in wanted.items():
        if given in ("reader", "editor") and given != before.get(name):
            accounts.grants.give(name, "reader" if given == "reader" else "editor", user_id=user.id)
        elif not given and name in before:
            accounts.grants.take(name, user_id=user.id)
    request.state.changed = f"{role}{'' if allowed else ' disabled'}"
    return RedirectResponse("/users", status_code=303)


@router.post("/users/{user_id}/password")
async def set_password(
    kb: WholeKb, auth: Auth, request: Request, user_id: str, password: Field
) -> Response:
    """Give a user a new password, which signs them out everywhere."""
    user = await to_thread.run_sync(_user, kb, user_id)
    try:
        change = partial(auth.accounts.users.set_password, user.id, user.name, password)
        await auth.run_hashing(change)
    except RequestError as error:
        return await to_thread.run_sync(partial(_one, kb, request, user, problem=problem_of(error)))
    return RedirectResponse("/users", status_code=303)


def _one(
    kb: KnowledgeBase,
    request: Request,
    user: User,
    *,
    problem: Problem | None = None,
    typed: tuple[Role, bool, Mapping[str, str]] | None = None,
) -> Response:
    own = _own_grants(kb, user)
    role, allowed, wanted = typed or (user.role, not user.disabled, own)
    groups = {group.name for group in kb.catalogue.accounts.groups.of(user.id)}
    grants = kb.catalogue.accounts.grants.list_all()
    names = dict.fromkeys([ALL, *kb.catalogue.collection_names(), *own])
    values = {
        "user": user,
        "groups": sorted(groups),
        "through": [grant for grant in grants if grant.group in groups],
        "role": role,
        "allowed": allowed,
        "grants": [(name, wanted.get(name, "")) for name in names],
        "roles": ROLES,
        "access": ACCESS,
        "all": ALL,
    }
    return render_page(request, "accounts/user.html", values, problem=problem)


def _own_grants(kb: KnowledgeBase, user: User) -> dict[str, str]:
    """The role that the user has in each collection, without those of groups."""
    grants = kb.catalogue.accounts.grants.list_all()
    return {grant.collection: grant.role for grant in grants if grant.user == user.name}


def _user(kb: KnowledgeBase, user_id: str) -> User:
    user = kb.catalogue.accounts.users.get(user_id)
    if user is None:
        raise UnknownNameError("there is no such user", hint="see /users")
    return user
