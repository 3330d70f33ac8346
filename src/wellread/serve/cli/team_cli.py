"""Commands for a server and its team: ``serve``, ``mcp`` and ``users``."""

from __future__ import annotations

import signal
import sys
from functools import partial
from typing import Annotated, Literal

import anyio
import typer
from rich.console import Console
from rich.text import Text

from wellread.errors import RequestError
from wellread.ingest.remove import forget_user
from wellread.serve.cli.options import Topics
from wellread.serve.features.people import (
    ForgottenBody,
    NewKeyBody,
    UserBody,
    key_named,
    new_key,
    user_bodies,
)
from wellread.serve.server.app import serve as listening
from wellread.serve.terminal import Terminal, fold, table, terminal_of, whole
from wellread.store.catalogue.accounts.sign_in_records import CHANGED, Accounts, Deed
from wellread.store.schema.stored_values import ApiKey, Role, User

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
        if terminal.json:
            terminal.write_json({"url": address})
        else:
            terminal.out.print(f"Wellread answers at {address}  (Ctrl-C stops it)", soft_wrap=True)

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
    terminal.show_list(accounts, lambda out: print_users(out, accounts))


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
    rows = [(each.name, ", ".join(each.members)) for each in groups]
    columns = [whole("group"), fold("members")]
    terminal.show_list(groups, lambda out: out.print(table(columns, rows)))


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
    rows = [(each.collection, each.user or f"group {each.group}", each.role) for each in grants]
    columns = [fold("collection"), fold("open to"), fold("at most as")]
    terminal.show_list(grants, lambda out: out.print(table(columns, rows)))


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
            terminal.show(kept, lambda out, gone: out.print(f"{gone.name} is revoked."))
        elif user:
            owner = accounts.users.named(user)
            made = new_key(accounts, owner, name, scope or [], collection or [], days)
            noted(accounts, f"keys new {made.made.id}")
            terminal.show(made, _print_new)
        else:
            _list_keys(terminal, list(accounts.keys.of(None)))


def _list_keys(terminal: Terminal, keys: list[ApiKey]) -> None:
    rows = [
        (
            each.id,
            each.user,
            each.name,
            f"{each.start}…",
            ", ".join(each.scopes),
            "all" if each.collections is None else ", ".join(each.collections),
            f"{each.used_at:%Y-%m-%d}" if each.used_at else "never",
            f"{each.expires_at:%Y-%m-%d}" if each.expires_at else "never",
        )
        for each in keys
    ]
    names = ("user", "name", "begins", "may", "collections", "used", "expires")
    columns = [whole("id"), *map(fold, names)]
    terminal.show_list(keys, lambda out: out.print(table(columns, rows)))


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
    rows = [
        (
            f"{one.at:%Y-%m-%d %H:%M:%S}",
            one.user or "the machine",
            f"{one.action} {one.outcome}".strip(),
            one.question or one.target,
            str(len(one.documents) or ""),
            one.address,
        )
        for one in found
    ]
    names = ("who", "did", "what", "documents", "from")
    columns = [whole("when (UTC)"), *map(fold, names)]
    terminal.show_list(found, lambda out: out.print(table(columns, rows)))


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


def password_for(terminal: Terminal, name: str, *, from_stdin: bool) -> str:
    """A new password: asked for twice, or the first line of standard input.

    Never from the command line: that is in the shell's history and in the list of processes.

    Raises:
        RequestError: there is neither a person nor a line.
    """
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


def _print_new(console: Console, body: NewKeyBody) -> None:
    console.print(Text(body.key, style="bold"), soft_wrap=True)
    console.print(f"It is shown this once. It may {', '.join(body.made.scopes)}.")
