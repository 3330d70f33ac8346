"""``users``: accounts of people."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from wellread.errors import RequestError
from wellread.ingest.forget_user import forget_user
from wellread.serve.cli.accounts.secret_input import password_for
from wellread.serve.features.people import ForgottenBody, UserBody, user_bodies
from wellread.serve.terminal import fold, table, terminal_of, whole
from wellread.store.catalogue.accounts import Accounts
from wellread.store.catalogue.accounts.audit_records import CHANGED, Deed
from wellread.store.schema.account_values import Role, User

app = typer.Typer(rich_markup_mode=None)
users = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="Accounts of people.")
app.add_typer(users, name="users")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The user's name.")]
FromStdin = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from standard input.")
]


@users.command("add")
def add(
    context: typer.Context,
    name: Name,
    role: Annotated[Role, typer.Option("--role", help="What they may do.")] = "reader",
    from_stdin: FromStdin = False,
) -> None:
    """Make an account. The first is an admin; from then on the server asks for sign-in."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        accounts = kb.catalogue.accounts
        password = password_for(terminal, name, from_stdin=from_stdin)
        user = accounts.users.add(name, role, password)
        noted(accounts, f"users add {user.id} {role}")
        _show(context, accounts, user)


@users.command("list")
def list_users(context: typer.Context) -> None:
    """All accounts with role and groups."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        found = user_bodies(kb.catalogue.accounts)
    if terminal.json:
        terminal.write_json(found)
    else:
        print_users(terminal.out, found)


@users.command("role")
def role(
    context: typer.Context,
    name: Name,
    new: Annotated[Role, typer.Argument(metavar="ROLE", help="reader, editor or admin.")],
) -> None:
    """Give another role: reader (asks), editor (adds, removes, rates), admin (everything)."""
    with terminal_of(context).open() as kb:
        accounts = kb.catalogue.accounts
        user = accounts.users.named(name)
        accounts.users.set_role(user.id, new)
        noted(accounts, f"users role {user.id} {new}")
        _show(context, accounts, user)


@users.command("disable")
def disable(context: typer.Context, name: Name) -> None:
    """Keep somebody out: their sessions end, their keys stop."""
    _set_disabled(context, name, True)


@users.command("enable")
def enable(context: typer.Context, name: Name) -> None:
    """Let somebody in again."""
    _set_disabled(context, name, False)


@users.command("password")
def password(context: typer.Context, name: Name, from_stdin: FromStdin = False) -> None:
    """Give a new password, and sign the user out everywhere."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        accounts = kb.catalogue.accounts
        user = accounts.users.named(name)
        new = password_for(terminal, user.name, from_stdin=from_stdin)
        accounts.users.set_password(user.id, user.name, new)
        noted(accounts, f"users password {user.id}")
        _show(context, accounts, user)


@users.command("remove")
def remove(
    context: typer.Context,
    name: Name,
    forget: Annotated[
        bool,
        typer.Option("--forget", help="Also all that they asked, rated and preferred, proved."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove an account with its keys, sessions and grants.

    Exit status: 0 when it is gone, 1 when --forget found something of it that is left.
    """
    terminal = terminal_of(context)
    with terminal.open() as kb:
        user = kb.catalogue.accounts.users.named(name)
        if not yes and not terminal.json:
            what = "the account and all that it left" if forget else "the account"
            typer.confirm(f"Remove {what} of {user.name}?", abort=True)
        body = ForgottenBody(user=user.name)
        if forget:
            report = forget_user(kb, user.id)
            found = tuple(str(one) for one in report.traces)
            body = ForgottenBody.of(
                report.forgotten, user=user.name, purged=report.purged, traces=found
            )
        else:
            kb.catalogue.forgetting_users.remove(user.id)
        noted(kb.catalogue.accounts, "users remove")
    terminal.show(body, _print_forgotten)
    if body.traces:
        raise typer.Exit(1)


def noted(accounts: Accounts, what: str) -> None:
    """Write a change down that was made on the machine itself."""
    accounts.audit.write(Deed(action=CHANGED, target=what))


def print_users(console: Console, found: list[UserBody]) -> None:
    """A table of accounts."""
    if not found:
        console.print("There are no users: whoever reaches this machine may do everything.")
        return
    rows = [
        (
            one.user.name,
            one.user.role + (" (disabled)" if one.user.disabled else ""),
            ", ".join(one.groups),
            "" if one.user.local else one.user.issuer,
        )
        for one in found
    ]
    names = ("role", "groups", "signs in at")
    console.print(table([whole("name"), *map(fold, names)], rows))


def _set_disabled(context: typer.Context, name: str, disabled: bool) -> None:
    with terminal_of(context).open() as kb:
        accounts = kb.catalogue.accounts
        user = accounts.users.named(name)
        accounts.users.set_disabled(user.id, disabled)
        noted(accounts, f"users {'disable' if disabled else 'enable'} {user.id}")
        _show(context, accounts, user)


def _show(context: typer.Context, accounts: Accounts, user: User) -> None:
    terminal = terminal_of(context)
    now = next((one for one in user_bodies(accounts) if one.user.id == user.id), None)
    if now is None:
        raise RequestError(f"{user.name} was removed meanwhile")
    terminal.show(now, lambda console, body: print_users(console, [body]))


def _print_forgotten(console: Console, body: ForgottenBody) -> None:
    console.print(f"{body.user} is gone.")
    if body.answers or body.feedback or body.entries:
        console.print(
            f"With them {body.answers} answers in {body.conversations} conversations, "
            f"{body.feedback} ratings; {body.entries} entries of the log have no name now."
        )
    for one in body.traces:
        console.print(f"still there: {one}")
    if not body.purged:
        console.print("Some bytes are left on the disk: 'wellread verify --repair' rewrites it.")
