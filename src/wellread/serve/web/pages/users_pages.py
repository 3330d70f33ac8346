"""Routes of the pages on users: who may sign in, and what each may read and change."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated

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
from wellread.store.schema.stored_values import ALL, Role, User

router = page_router("admin")
ROLES: Mapping[Role, str] = {
    "reader": "asks and reads",
    "editor": "also adds, removes and rates",
    "admin": "everything, in all collections",
}
ACCESS = {"": "no access", "reader": "may read", "editor": "may read and change"}
Field = Annotated[str, Form(max_length=1_000)]
Names = Annotated[list[str], Form()]
Wanted = tuple[Role, bool, Mapping[str, str]]  # role, may sign in, role by collection
in_thread = to_thread.run_sync


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
        return await in_thread(_list, kb, request, typed, problem_of(error))
    request.state.changed = f"users add {user.id} {role}"
    return RedirectResponse(f"/users/{user.id}", status_code=303)


def _list(
    kb: KnowledgeBase,
    request: Request,
    typed: Mapping[str, str] | None = None,
    problem: Problem | None = None,
) -> Response:
    grants, bodies = kb.catalogue.accounts.grants.list_all(), user_bodies(kb.catalogue.accounts)
    users = [
        (one.user, [g for g in grants if g.user == one.user.name or g.group in one.groups])
        for one in bodies
    ]
    typed = typed or {"name": "", "role": "reader" if users else "admin"}
    values = {"users": users, "roles": ROLES, "typed": typed, "all": ALL}
    return render_page(request, "accounts/users.html", values, problem=problem)


@router.get("/users/{user_id}")
def user_page(kb: WholeKb, request: Request, user_id: str) -> Response:
    """One user with role and access, to change."""
    return _one(kb, request, _user(kb, user_id))


@router.post("/users/{user_id}")
async def change_user(
    kb: WholeKb,
    auth: Auth,
    request: Request,
    user_id: str,
    role: Annotated[Role, Form()],
    collection: Names = [],  # noqa: B006 - FastAPI copies it
    access: Names = [],  # noqa: B006
    allowed: Annotated[bool, Form()] = False,
    password: Field = "",
) -> Response:
    """Change a user's role, access and, if one is given, password, from the next request on."""
    user = await in_thread(_user, kb, user_id)
    wanted = dict(zip(collection, access, strict=False))
    try:
        if password:
            set_password = auth.accounts.users.set_password
            await auth.run_hashing(partial(set_password, user.id, user.name, password))
        await in_thread(_change, kb, user, (role, allowed, wanted))
    except RequestError as error:
        typed = (role, allowed, wanted)
        return await in_thread(_one, kb, request, user, problem_of(error), typed)
    request.state.changed = f"{role}{'' if allowed else ' disabled'}"
    return RedirectResponse("/users", status_code=303)


def _change(kb: KnowledgeBase, user: User, wanted: Wanted) -> None:
    accounts, own = kb.catalogue.accounts, _own_grants(kb, user)
    role, allowed, access = wanted
    if role != user.role:
        accounts.users.set_role(user.id, role)
    if allowed == user.disabled:
        accounts.users.set_disabled(user.id, not allowed)
    for name, given in access.items():
        if given in ("reader", "editor") and given != own.get(name):
            accounts.grants.give(name, "reader" if given == "reader" else "editor", user_id=user.id)
        elif not given and name in own:
            accounts.grants.take(name, user_id=user.id)


def _one(
    kb: KnowledgeBase,
    request: Request,
    user: User,
    problem: Problem | None = None,
    typed: Wanted | None = None,
) -> Response:
    role, allowed, access = typed or (user.role, not user.disabled, _own_grants(kb, user))
    groups = [group.name for group in kb.catalogue.accounts.groups.of(user.id)]
    values = {
        "user": user,
        "groups": groups,
        "through": [g for g in kb.catalogue.accounts.grants.list_all() if g.group in groups],
        "role": role,
        "allowed": allowed,
        "grants": {**dict.fromkeys((ALL, *kb.catalogue.collection_names()), ""), **access},
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
