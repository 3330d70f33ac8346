"""``keys`` and ``audit``: keys of programs, and what everybody did."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from wellread.serve.cli.accounts.users_cli import noted
from wellread.serve.features.people import (
    NewKeyBody,
    key_named,
    new_key,
)
from wellread.serve.terminal import fold, table, terminal_of, whole

app = typer.Typer(rich_markup_mode=None)
keys = typer.Typer(
    rich_markup_mode=None, no_args_is_help=True, help="Keys by which programs sign in."
)
app.add_typer(keys, name="keys")


@keys.command("new")
def new(
    context: typer.Context,
    user: Annotated[str, typer.Argument(metavar="USER", help="Whose key it is.")],
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
) -> None:
    """Make a key and show it, this once. It never may more than its user."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        accounts = kb.catalogue.accounts
        owner = accounts.users.named(user)
        made = new_key(accounts, owner, name, scope or [], collection or [], days)
        noted(accounts, f"keys new {made.made.id}")
    terminal.show(made, _print_new)


@keys.command("list")
def list_keys(
    context: typer.Context,
    user: Annotated[str, typer.Option("--user", metavar="NAME", help="Only this user's.")] = "",
) -> None:
    """All keys, the newest first; never the keys themselves."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        accounts = kb.catalogue.accounts
        owner = accounts.users.named(user).id if user else None
        found = list(accounts.keys.of(owner))
    if terminal.json:
        terminal.write_json(found)
        return
    rows = [
        (
            one.id,
            one.user,
            one.name,
            f"{one.start}…",
            ", ".join(one.scopes),
            "all" if one.collections is None else ", ".join(one.collections),
            f"{one.used_at:%Y-%m-%d}" if one.used_at else "never",
            f"{one.expires_at:%Y-%m-%d}" if one.expires_at else "never",
        )
        for one in found
    ]
    names = ("user", "name", "begins", "may", "collections", "used", "expires")
    terminal.out.print(table([whole("id"), *map(fold, names)], rows))


@keys.command("revoke")
def revoke(
    context: typer.Context,
    key: Annotated[str, typer.Argument(metavar="KEY", help="Its id, beginning or name.")],
) -> None:
    """Let a key open nothing any more, from the next request on."""
    terminal = terminal_of(context)
    with terminal.open() as kb:
        accounts = kb.catalogue.accounts
        found = key_named(accounts.keys.of(), key)
        accounts.keys.revoke(found.id)
        noted(accounts, f"keys revoke {found.id}")
    terminal.show(found, lambda console, body: console.print(f"{body.name} is revoked."))


@app.command()
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
    if terminal.json:
        terminal.write_json(found)
        return
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
    terminal.out.print(table([whole("when (UTC)"), *map(fold, names)], rows))


def _print_new(console: Console, body: NewKeyBody) -> None:
    console.print(Text(body.key, style="bold"), soft_wrap=True)
    console.print(f"It is shown this once. It may {', '.join(body.made.scopes)}.")
