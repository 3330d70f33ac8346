"""Commands for a server and its team: ``serve``, ``mcp`` and ``users``."""

from __future__ import annotations

import signal
import sys
from functools import partial
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
from wellread.serve.server.app import serve as listening
from wellread.serve.terminal import Terminal, print_facts, print_line, terminal_of
from wellread.store.catalogue.accounts.sign_in_records import CHANGED, Accounts, Deed
from wellread.store.schema.stored_values import Role, User

USERS = "name role disabled groups signs_in_at=issuer"
GROUPS = "group=name members"
GRANTS = "collection user group at_most_as=role"
KEYS = "id user name begins=start may=scopes collections used=used_at:day expires=expires_at:day"
DEEDS = "when=at who=user did=action outcome question about=target documents:count from=address"
FORGOTTEN = "answers conversations ratings=feedback log_entries=entries still_there=traces"
NO_USERS = "There are no users: whoever reaches this machine may do everything."
ALONE = "This waits for an MCP client, which starts it: see docs/programs.md (Ctrl-C stops it)."

app = typer.Typer(rich_markup_mode=None)
users = typer.Typer(
    name="users",
    help="Accounts of people, their groups, grants and keys, and what everybody did.",
    invoke_without_command=True,
    rich_markup_mode=None,
)
app.add_typer(users)


@app.command()
def serve(
    context: typer.Context,
    host: Annotated[
        str | None,
        typer.Option(help="Address to listen on; others than this machine's need an admin."),
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")
    ] = None,
) -> None:
    """Serve the HTTP interface and the pages, until interrupted.

    Without users only this machine is served. Once there is one, everybody has to sign in.
    """
    terminal = terminal_of(context)

    def tell(address: str) -> None:
        terminal.say({"url": address}, f"Wellread answers at {address}  (Ctrl-C stops it)")

    with terminal.open_current() as kb:
        chosen = kb.settings.serve.host if host is None else host
        listening(kb, chosen, kb.settings.serve.port if port is None else port, on_ready=tell)


@app.command()
def mcp(context: typer.Context, topic: Topics = None) -> None:
    """Answer a program over standard input and output by the Model Context Protocol.

    A client (Claude, Cursor, VS Code …) starts this command itself; docs/programs.md says how it is
    told to. Nothing but the protocol is written to standard output. 'wellread serve' answers the
    same over HTTP, at /mcp.
    """
    try:
        # The SDK takes a third of a second to load, and is an extra.
        from wellread.serve.mcp.mcp_server import serve_stdio  # noqa: PLC0415
        from wellread.serve.mcp.tool_calls import Served  # noqa: PLC0415
    except ImportError as error:
        raise RequestError(
            f"the Model Context Protocol needs the extra 'mcp', which cannot be imported: {error}",
            hint="pip install 'wellread[mcp]'",
        ) from error
    terminal = terminal_of(context)
    with terminal.open_current() as kb:
        served = Served(kb=kb, collections=tuple(topic or ()))
        if sys.stdin.isatty():
            terminal.err.print(ALONE, soft_wrap=True)
        # The thread that waits for input cannot be told to stop: Ctrl-C ends the process, which
        # loses nothing, as no kill does.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        anyio.run(partial(serve_stdio, served))


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
    terminal = terminal_of(context)
    with terminal.open() as kb:
        accounts = user_bodies(kb.catalogue.accounts)
    terminal.show_rows(accounts, USERS, none=NO_USERS)


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


@users.command("change")
def change(
    context: typer.Context,
    name: Name,
    role: Annotated[
        Role | None,
        typer.Option(
            "--role", help="reader (asks), editor (adds, removes, rates) or admin (everything)."
        ),
    ] = None,
    disable: Annotated[
        bool | None,
        typer.Option(
            "--disable/--enable", help="Keep them out: sessions end, keys stop; or let them in."
        ),
    ] = None,
    password: Annotated[
        bool, typer.Option("--password", help="Set a new one, which is asked for.")
    ] = False,
    from_stdin: FromStdin = False,
) -> None:
    """Give somebody another role or password, or keep them out."""
    terminal = terminal_of(context)
    if role is None and disable is None and not (password or from_stdin):
        raise RequestError("there is nothing to change", hint="--role, --disable or --password")
    with terminal.open() as kb:
        accounts = kb.catalogue.accounts
        user = accounts.users.named(name)
        if password or from_stdin:
            new = password_for(terminal, user.name, from_stdin=from_stdin)
            accounts.users.set_password(user.id, user.name, new)
            noted(accounts, f"users password {user.id}")
        if role is not None:
            accounts.users.set_role(user.id, role)
            noted(accounts, f"users role {user.id} {role}")
        if disable is not None:
            accounts.users.set_disabled(user.id, disable)
            noted(accounts, f"users {'disable' if disable else 'enable'} {user.id}")
        _show(context, accounts, user)


@users.command("remove")
def remove(
    context: typer.Context,
    name: Name,
    forget: Annotated[
        bool,
        typer.Option("--forget", help="Also all that they asked, rated and preferred, proved."),
    ] = False,
    yes: Yes = False,
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


@users.command("group")
def group_(
    context: typer.Context,
    group: Annotated[
        str, typer.Argument(metavar="[GROUP]", help="Its name; else all groups are listed.")
    ] = "",
    add: Annotated[
        list[str] | None, typer.Option("--add", metavar="USER", help="Put in; repeatable.")
    ] = None,
    take: Annotated[
        list[str] | None, typer.Option("--take", metavar="USER", help="Take out; repeatable.")
    ] = None,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove it with its grants; its members stay.")
    ] = False,
) -> None:
    """Make a group of users that share grants, or change who is in it."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        accounts = kb.catalogue.accounts
        if remove:
            accounts.groups.remove(accounts.groups.named(group).id)
            noted(accounts, f"groups remove {group}")
        elif group:
            _change_group(accounts, group, add or [], take or [])
        groups = list(accounts.groups.every())
    terminal.show_rows(groups, GROUPS, none="There is no group.")


def _change_group(accounts: Accounts, group: str, joining: list[str], leaving: list[str]) -> None:
    members = {name: accounts.users.named(name) for name in (*joining, *leaving)}
    if group not in {each.name for each in accounts.groups.every()}:
        if leaving:
            accounts.groups.named(group)  # says that there is none
        accounts.groups.add(group)
        noted(accounts, f"groups add {group}")
    known = accounts.groups.named(group)
    for names, action, verb in (
        (joining, accounts.groups.join, "join"),
        (leaving, accounts.groups.leave, "leave"),
    ):
        for name in names:
            action(known.id, members[name].id)
            noted(accounts, f"groups {verb} {group} {members[name].id}")


@users.command("grant")
def grant(
    context: typer.Context,
    collection: Annotated[
        str,
        typer.Argument(metavar="[COLLECTION]", help="Its name; '*' stands for all; else a list."),
    ] = "",
    user: ToUser = "",
    group: ToGroup = "",
    role: Annotated[
        Literal["reader", "editor"],
        typer.Option("--role", help="At most so much; the user's own role bounds it too."),
    ] = "editor",
    revoke: Annotated[
        bool, typer.Option("--revoke", help="Close it again, from the next request on.")
    ] = False,
) -> None:
    """Open a collection to a user or a group."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        accounts = kb.catalogue.accounts
        if collection:
            holder = _holder(accounts, user, group)
            if not revoke:
                accounts.grants.give(collection, role, **holder)
            elif not accounts.grants.take(collection, **holder):
                raise RequestError(
                    "there is no such grant", hint="'wellread users grant' lists them"
                )
            verb = f"remove {collection}" if revoke else f"add {collection} {role}"
            noted(accounts, f"grants {verb} {' '.join(holder.values())}")
        grants = list(accounts.grants.every())
    terminal.show_rows(grants, GRANTS, none="Nothing is open to anybody but admins.")


def _holder(accounts: Accounts, user: str, group: str) -> dict[str, str]:
    """Whom a grant is for."""
    if bool(user) == bool(group):
        raise RequestError("say to whom", hint="--user NAME or --group NAME, one of them")
    if user:
        return {"user_id": accounts.users.named(user).id}
    return {"group_id": accounts.groups.named(group).id}


@users.command("key")
def key_(  # noqa: PLR0913 - Typer reads the options from the signature
    context: typer.Context,
    user: Annotated[
        str, typer.Argument(metavar="[USER]", help="Make a key of theirs; else all are listed.")
    ] = "",
    name: Annotated[str, typer.Option("--name", help="What it is for.")] = "key",
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
        typer.Option(metavar="KEY", help="Let this one (id, beginning or name) open nothing more."),
    ] = "",
) -> None:
    """Make a key by which a program signs in, and show it, this once; or list or revoke keys.

    A key never may more than its user.
    """
    terminal = terminal_of(context)
    with terminal.open() as kb:
        accounts = kb.catalogue.accounts
        if revoke:
            kept = key_named(accounts.keys.of(), revoke)
            accounts.keys.revoke(kept.id)
            noted(accounts, f"keys revoke {kept.id}")
            terminal.say(kept, f"{kept.name} is revoked.")
        elif user:
            owner = accounts.users.named(user)
            made = new_key(accounts, owner, name, scope or [], collection or [], days)
            noted(accounts, f"keys new {made.made.id}")
            terminal.show(made, _print_new)
        else:
            terminal.show_rows(list(accounts.keys.of(None)), KEYS, none="There is no key.")


@users.command()
def audit(
    context: typer.Context,
    user: Annotated[str, typer.Option("--user", metavar="NAME", help="Only this user.")] = "",
    action: Annotated[
        str, typer.Option("--action", help="Only this: asked, opened, changed, 'signed in', …")
    ] = "",
    document: Annotated[
        str, typer.Option("--document", metavar="ID", help="Only what showed this document.")
    ] = "",
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="Most of them.")] = 100,
) -> None:
    """Who asked what and saw which documents, who changed what; the newest first."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        accounts = kb.catalogue.accounts
        owner = accounts.users.named(user).id if user else None
        entries = accounts.audit.newest(limit, user_id=owner, action=action, document_id=document)
        found = list(entries)
    terminal.show_rows(found, DEEDS, none="Nothing is in the log.")


def noted(accounts: Accounts, what: str) -> None:
    """Write a change down that was made on the machine itself."""
    accounts.audit.write(Deed(action=CHANGED, target=what))


def password_for(terminal: Terminal, name: str, *, from_stdin: bool) -> str:
    """A new password: asked for twice, or the first line of standard input.

    Never from the command line: that is in the shell's history and in the list of processes."""
    if from_stdin:
        line = sys.stdin.readline().rstrip("\r\n")
        if not line:
            raise RequestError("standard input holds no password", hint="one line of it is read")
        return line
    if terminal.json or not sys.stdin.isatty():
        raise RequestError(
            "there is nobody to ask for a password",
            hint="give it on standard input, with --password-stdin",
        )
    return str(
        typer.prompt(f"New password of {name}", hide_input=True, confirmation_prompt=True, err=True)
    )


def _show(context: typer.Context, accounts: Accounts, user: User) -> None:
    terminal = terminal_of(context)
    now = next((one for one in user_bodies(accounts) if one.user.id == user.id), None)
    if now is None:
        raise RequestError(f"{user.name} was removed meanwhile")
    terminal.show_facts(now, USERS)


def _print_forgotten(console: Console, body: ForgottenBody) -> None:
    print_line(console, f"{body.user} is gone.")
    print_facts(console, body, FORGOTTEN)
    if not body.purged:
        again = "'wellread verify --repair' rewrites it."
        print_line(console, f"Some bytes are left on the disk: {again}")


def _print_new(console: Console, body: NewKeyBody) -> None:
    print_line(console, body.key, "bold")
    print_line(console, f"It is shown this once. It may {', '.join(body.made.scopes)}.")
