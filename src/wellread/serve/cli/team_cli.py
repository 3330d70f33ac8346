"""Commands that run a server (``serve``, ``mcp``) and manage the accounts of its users."""

from __future__ import annotations

import signal
import sys
from typing import Annotated, Literal

import anyio
import typer
from rich.console import Console

from wellread.errors import RequestError
from wellread.ingest.remove import forget_user
from wellread.serve.cli.options import Topics, Yes
from wellread.serve.features.people import (
    ForgottenBody,
    NewKeyBody,
    key_named,
    new_key,
    user_bodies,
)
from wellread.serve.http.app import serve as run_server
from wellread.serve.terminal import Terminal, opened, print_facts, print_line, terminal_of
from wellread.store.catalogue.accounts.sign_in_records import CHANGED, Accounts, NewEntry
from wellread.store.schema.stored_values import Role, User

# The fields that lists and facts print: see ``serve/terminal.py``.
USERS = "name role disabled groups signs_in_at=issuer"
GROUPS = "group=name members"
GRANTS = "collection user group at_most_as=role"
KEYS = "id user name begins=start may=scopes collections used=used_at:day expires=expires_at:day"
AUDIT_ENTRIES = (
    "when=at who=user did=action outcome question about=target documents:count from=address"
)
FORGOTTEN = "answers conversations ratings=feedback log_entries=entries still_there=traces"
NO_USERS = "There are no users: anybody who can reach this server has full access."
NO_CLIENT = "Waiting for an MCP client, which starts this: see docs/programs.md (Ctrl-C stops it)."

app = typer.Typer(rich_markup_mode=None)
users = typer.Typer(
    name="users",
    help="Manage accounts, groups, grants and keys, and show the audit log.",
    invoke_without_command=True,
    rich_markup_mode=None,
)
app.add_typer(users)


@app.command()
def serve(
    context: typer.Context,
    host: Annotated[
        str | None,
        typer.Option(help="Address to listen on; a non-local one needs an admin account."),
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port; 0 chooses a free one.")
    ] = None,
) -> None:
    """Serve the HTTP interface and the pages until interrupted.

    Without users, only this machine is served. With users, everybody has to sign in.
    """
    terminal = terminal_of(context)

    def print_address(address: str) -> None:
        terminal.say({"url": address}, f"Wellread is running at {address}  (Ctrl-C stops it)")

    if not terminal.json:
        opening = f"Opening {terminal.home_folder()} and loading the model that reads questions …"
        print_line(terminal.err, opening, "dim")
    with terminal.open_current() as kb:
        address_ = kb.settings.serve.host if host is None else host
        port_ = kb.settings.serve.port if port is None else port
        run_server(kb, address_, port_, on_ready=print_address)


@app.command()
def mcp(context: typer.Context, topic: Topics = None) -> None:
    """Serve an MCP client (Model Context Protocol) over standard input and output.

    A client (Claude, Cursor, VS Code …) starts this command itself; docs/programs.md explains the
    setup. Standard output carries only the protocol. 'wellread serve' offers the same over HTTP at
    /mcp.
    """
    try:
        # Imported here: the SDK takes a third of a second to load, and is an extra.
        from wellread.serve.mcp.mcp_server import mcp_server  # noqa: PLC0415
        from wellread.serve.mcp.tool_calls import ServedLibrary  # noqa: PLC0415
    except ImportError as error:
        raise RequestError(
            f"the Model Context Protocol needs the extra 'mcp', which cannot be imported: {error}",
            hint="pip install 'wellread[mcp]'",
        ) from error
    with opened(context, Terminal.open_current) as (terminal, kb):
        served = ServedLibrary(kb=kb, collections=tuple(topic or ()))
        if sys.stdin.isatty():
            terminal.err.print(NO_CLIENT, soft_wrap=True)
        # The thread that waits for input cannot be stopped, so Ctrl-C kills the process. This is
        # safe: nothing is lost when it is killed.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        anyio.run(mcp_server(served).run_stdio_async)


# --- users -----------------------------------------------------------------------------------

Name = Annotated[str, typer.Argument(metavar="NAME", help="The user's name.")]
FromStdin = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from standard input.")
]
ToUser = Annotated[str, typer.Option("--user", metavar="NAME", help="To this user.")]
ToGroup = Annotated[str, typer.Option("--group", metavar="NAME", help="To this group.")]


@users.callback()
def list_users(context: typer.Context) -> None:
    """List all accounts with role and groups."""
    if context.invoked_subcommand:
        return
    with opened(context) as (terminal, kb):
        accounts = user_bodies(kb.catalogue.accounts)
    terminal.show_rows(accounts, USERS, none=NO_USERS)


@users.command("add")
def add(
    context: typer.Context,
    name: Name,
    role: Annotated[Role, typer.Option("--role", help="The user's role.")] = "reader",
    from_stdin: FromStdin = False,
) -> None:
    """Create an account. The first must be an admin; from then on the server requires sign-in."""
    with opened(context) as (terminal, kb):
        accounts = kb.catalogue.accounts
        password = password_for(terminal, name, from_stdin=from_stdin)
        user = accounts.users.add(name, role, password)
        record_change(accounts, f"users add {user.id} {role}")
        _show(context, accounts, user)


@users.command("change")
def change(
    context: typer.Context,
    name: Name,
    role: Annotated[
        Role | None,
        typer.Option(
            "--role", help="reader (ask), editor (add, remove, rate) or admin (everything)."
        ),
    ] = None,
    disable: Annotated[
        bool | None,
        typer.Option(
            "--disable/--enable", help="End its sessions and keys, or allow sign-in again."
        ),
    ] = None,
    password: Annotated[
        bool, typer.Option("--password", help="Prompt for a new password.")
    ] = False,
    from_stdin: FromStdin = False,
) -> None:
    """Change a user's role or password, or disable the account."""
    if role is None and disable is None and not (password or from_stdin):
        raise RequestError("there is nothing to change", hint="--role, --disable or --password")
    with opened(context) as (terminal, kb):
        accounts = kb.catalogue.accounts
        user = accounts.users.named(name)
        if password or from_stdin:
            new = password_for(terminal, user.name, from_stdin=from_stdin)
            accounts.users.set_password(user.id, user.name, new)
            record_change(accounts, f"users password {user.id}")
        if role is not None:
            accounts.users.set_role(user.id, role)
            record_change(accounts, f"users role {user.id} {role}")
        if disable is not None:
            accounts.users.set_disabled(user.id, disable)
            record_change(accounts, f"users {'disable' if disable else 'enable'} {user.id}")
        _show(context, accounts, user)


@users.command("remove")
def remove(
    context: typer.Context,
    name: Name,
    forget: Annotated[
        bool,
        typer.Option("--forget", help="Also erase what they asked, rated and preferred."),
    ] = False,
    yes: Yes = False,
) -> None:
    """Remove an account with its keys, sessions and grants.

    Exit status: 0 when it was removed, 1 when --forget found data that is left.
    """
    with opened(context) as (terminal, kb):
        user = kb.catalogue.accounts.users.named(name)
        if not yes and not terminal.json:
            what = "the account and all data" if forget else "the account"
            typer.confirm(f"Remove {what} of {user.name}?", abort=True)
        body = ForgottenBody(user=user.name)
        if forget:
            report = forget_user(kb, user.id)
            traces = tuple(str(trace) for trace in report.traces)
            body = ForgottenBody.of(
                report.forgotten, user=user.name, purged=report.purged, traces=traces
            )
        else:
            kb.catalogue.forgetting_users.remove(user.id)
        record_change(kb.catalogue.accounts, "users remove")
    terminal.show(body, _print_forgotten)
    if body.traces:
        raise typer.Exit(1)


@users.command("group")
def group_(
    context: typer.Context,
    group: Annotated[
        str, typer.Argument(metavar="[GROUP]", help="Name of the group; without it, list groups.")
    ] = "",
    add: Annotated[
        list[str] | None, typer.Option("--add", metavar="USER", help="Add this user; repeatable.")
    ] = None,
    take: Annotated[
        list[str] | None, typer.Option("--take", metavar="USER", help="Remove them; repeatable.")
    ] = None,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove the group with its grants, not its members.")
    ] = False,
) -> None:
    """Create a group of users with shared grants, or change its members."""
    with opened(context) as (terminal, kb):
        accounts = kb.catalogue.accounts
        if remove:
            accounts.groups.remove(accounts.groups.named(group).id)
            record_change(accounts, f"groups remove {group}")
        elif group:
            _change_group(accounts, group, add or [], take or [])
        groups = list(accounts.groups.list_all())
    terminal.show_rows(groups, GROUPS, none="There are no groups.")


def _change_group(accounts: Accounts, group: str, joining: list[str], leaving: list[str]) -> None:
    members = {name: accounts.users.named(name) for name in (*joining, *leaving)}
    if group not in {record.name for record in accounts.groups.list_all()}:
        if leaving:
            accounts.groups.named(group)  # raises that it does not exist
        accounts.groups.add(group)
        record_change(accounts, f"groups add {group}")
    group_record = accounts.groups.named(group)
    for names, action, verb in (
        (joining, accounts.groups.join, "join"),
        (leaving, accounts.groups.leave, "leave"),
    ):
        for name in names:
            action(group_record.id, members[name].id)
            record_change(accounts, f"groups {verb} {group} {members[name].id}")


@users.command("grant")
def grant(
    context: typer.Context,
    collection: Annotated[
        str,
        typer.Argument(metavar="[COLLECTION]", help="Name, '*' for all; without it, list grants."),
    ] = "",
    user: ToUser = "",
    group: ToGroup = "",
    role: Annotated[
        Literal["reader", "editor"],
        typer.Option("--role", help="Highest role there; also limited by the user's own role."),
    ] = "editor",
    revoke: Annotated[
        bool, typer.Option("--revoke", help="Revoke the grant, effective from the next request.")
    ] = False,
) -> None:
    """Grant a user or a group access to a collection."""
    with opened(context) as (terminal, kb):
        accounts = kb.catalogue.accounts
        if collection:
            holder = _holder(accounts, user, group)
            if not revoke:
                accounts.grants.give(collection, role, **holder)
            elif not accounts.grants.take(collection, **holder):
                raise RequestError("there is no such grant", hint="list them: wellread users grant")
            verb = f"remove {collection}" if revoke else f"add {collection} {role}"
            record_change(accounts, f"grants {verb} {' '.join(holder.values())}")
        grants = list(accounts.grants.list_all())
    terminal.show_rows(grants, GRANTS, none="There are no grants: only admins have access.")


def _holder(accounts: Accounts, user: str, group: str) -> dict[str, str]:
    if bool(user) == bool(group):
        raise RequestError("name a user or a group", hint="use either --user NAME or --group NAME")
    if user:
        return {"user_id": accounts.users.named(user).id}
    return {"group_id": accounts.groups.named(group).id}


@users.command("key")
def key_(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    user: Annotated[
        str, typer.Argument(metavar="[USER]", help="User of the new key; without it, list keys.")
    ] = "",
    name: Annotated[str, typer.Option("--name", help="The purpose of the key.")] = "key",
    scope: Annotated[
        list[str] | None,
        typer.Option("--scope", help="read, ask, edit or admin; repeatable. [read, ask]"),
    ] = None,
    collection: Annotated[
        list[str] | None,
        typer.Option("--collection", "-c", metavar="NAME", help="Only this one; repeatable."),
    ] = None,
    days: Annotated[
        int | None, typer.Option("--days", min=1, max=3650, help="Days until it expires.")
    ] = None,
    revoke: Annotated[
        str,
        typer.Option(metavar="KEY", help="Revoke this key (id, start of it, or name)."),
    ] = "",
) -> None:
    """Create an API key and show it once, or list or revoke keys.

    A key never has more rights than its user.
    """
    with opened(context) as (terminal, kb):
        accounts = kb.catalogue.accounts
        if revoke:
            key = key_named(accounts.keys.of(), revoke)
            accounts.keys.revoke(key.id)
            record_change(accounts, f"keys revoke {key.id}")
            terminal.say(key, f"{key.name} is revoked.")
        elif user:
            owner = accounts.users.named(user)
            new = new_key(accounts, owner, name, scope or [], collection or [], days)
            record_change(accounts, f"keys new {new.made.id}")
            terminal.show(new, _print_new)
        else:
            terminal.show_rows(list(accounts.keys.of(None)), KEYS, none="There are no keys.")


@users.command()
def audit(
    context: typer.Context,
    user: Annotated[str, typer.Option("--user", metavar="NAME", help="Only this user.")] = "",
    action: Annotated[
        str, typer.Option("--action", help="Only this: asked, opened, changed, 'signed in', …")
    ] = "",
    document: Annotated[
        str, typer.Option("--document", metavar="ID", help="Only views of this document.")
    ] = "",
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="Maximum number.")] = 100,
) -> None:
    """Show the audit log, newest first: questions, opened documents and changes by user."""
    with opened(context) as (terminal, kb):
        accounts = kb.catalogue.accounts
        owner = accounts.users.named(user).id if user else None
        entries = accounts.audit.newest(limit, user_id=owner, action=action, document_id=document)
        rows = list(entries)
    terminal.show_rows(rows, AUDIT_ENTRIES, none="The audit log is empty.")


def record_change(accounts: Accounts, target: str) -> None:
    """Record a change made on the command line in the audit log."""
    accounts.audit.write(NewEntry(action=CHANGED, target=target))


def password_for(terminal: Terminal, name: str, *, from_stdin: bool) -> str:
    """Prompt twice for a new password, or read it from the first line of standard input.

    It is never an option: the shell's history and the process list would show it.
    """
    if from_stdin:
        line = sys.stdin.readline().rstrip("\r\n")
        if not line:
            raise RequestError("standard input has no password", hint="write it as one line")
        return line
    if terminal.json or not sys.stdin.isatty():
        raise RequestError(
            "cannot prompt for a password without a terminal",
            hint="give it on standard input, with --password-stdin",
        )
    return str(
        typer.prompt(f"New password of {name}", hide_input=True, confirmation_prompt=True, err=True)
    )


def _show(context: typer.Context, accounts: Accounts, user: User) -> None:
    terminal = terminal_of(context)
    current = next((body for body in user_bodies(accounts) if body.user.id == user.id), None)
    if current is None:
        raise RequestError(f"the user {user.name} has just been removed")
    terminal.show_facts(current, USERS)


def _print_forgotten(console: Console, body: ForgottenBody) -> None:
    print_line(console, f"{body.user} was removed.")
    print_facts(console, body, FORGOTTEN)
    if not body.purged:
        again = "erase it with 'wellread verify --repair'."
        print_line(console, f"Some data is left on the disk; {again}")


def _print_new(console: Console, body: NewKeyBody) -> None:
    print_line(console, body.key, "bold")
    print_line(console, f"It is shown only once. Its scopes: {', '.join(body.made.scopes)}.")
