"""``groups`` and ``grants``: what is open to whom."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from wellread.errors import RequestError
from wellread.serve.cli.accounts.users_cli import noted
from wellread.serve.terminal import fold, table, terminal_of, whole
from wellread.store.catalogue.accounts import Accounts

app = typer.Typer(rich_markup_mode=None)
groups = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="Users that share grants.")
grants = typer.Typer(
    rich_markup_mode=None, no_args_is_help=True, help="Which collections are open to whom."
)
app.add_typer(groups, name="groups")
app.add_typer(grants, name="grants")

GroupName = Annotated[str, typer.Argument(metavar="GROUP", help="The group's name.")]
UserName = Annotated[str, typer.Argument(metavar="USER", help="The user's name.")]
CollectionName = Annotated[
    str, typer.Argument(metavar="COLLECTION", help="Its name; '*' stands for all.")
]
ToUser = Annotated[str, typer.Option("--user", metavar="NAME", help="To this user.")]
ToGroup = Annotated[str, typer.Option("--group", metavar="NAME", help="To this group.")]


@groups.command("list")
def list_groups(context: typer.Context) -> None:
    """All groups with their members."""
    with terminal_of(context).open() as kb:
        _show_groups(context, kb.catalogue.accounts)


@groups.command("add")
def add_group(context: typer.Context, group: GroupName) -> None:
    """Make a group."""
    with terminal_of(context).open() as kb:
        accounts = kb.catalogue.accounts
        accounts.groups.add(group)
        noted(accounts, f"groups add {group}")
        _show_groups(context, accounts)


@groups.command("remove")
def remove_group(context: typer.Context, group: GroupName) -> None:
    """Remove a group with its grants; its members stay."""
    with terminal_of(context).open() as kb:
        accounts = kb.catalogue.accounts
        accounts.groups.remove(accounts.groups.named(group).id)
        noted(accounts, f"groups remove {group}")
        _show_groups(context, accounts)


@groups.command("join")
def join(context: typer.Context, group: GroupName, user: UserName) -> None:
    """Put a user into a group."""
    with terminal_of(context).open() as kb:
        accounts = kb.catalogue.accounts
        member = accounts.users.named(user)
        accounts.groups.join(accounts.groups.named(group).id, member.id)
        noted(accounts, f"groups join {group} {member.id}")
        _show_groups(context, accounts)


@groups.command("leave")
def leave(context: typer.Context, group: GroupName, user: UserName) -> None:
    """Take a user out of a group."""
    with terminal_of(context).open() as kb:
        accounts = kb.catalogue.accounts
        member = accounts.users.named(user)
        accounts.groups.leave(accounts.groups.named(group).id, member.id)
        noted(accounts, f"groups leave {group} {member.id}")
        _show_groups(context, accounts)


@grants.command("list")
def list_grants(context: typer.Context) -> None:
    """All grants."""
    with terminal_of(context).open() as kb:
        _show_grants(context, kb.catalogue.accounts)


@grants.command("add")
def add_grant(
    context: typer.Context,
    collection: CollectionName,
    user: ToUser = "",
    group: ToGroup = "",
    role: Annotated[
        Literal["reader", "editor"],
        typer.Option("--role", help="At most so much; the user's own role bounds it too."),
    ] = "editor",
) -> None:
    """Open a collection to a user or a group."""
    with terminal_of(context).open() as kb:
        accounts = kb.catalogue.accounts
        holder = _holder(accounts, user, group)
        accounts.grants.give(collection, role, **holder)
        noted(accounts, f"grants add {collection} {role} {' '.join(holder.values())}")
        _show_grants(context, accounts)


@grants.command("remove")
def remove_grant(
    context: typer.Context, collection: CollectionName, user: ToUser = "", group: ToGroup = ""
) -> None:
    """Close it again; that holds from the next request on."""
    with terminal_of(context).open() as kb:
        accounts = kb.catalogue.accounts
        holder = _holder(accounts, user, group)
        if not accounts.grants.take(collection, **holder):
            raise RequestError("there is no such grant", hint="'wellread grants list' shows them")
        noted(accounts, f"grants remove {collection} {' '.join(holder.values())}")
        _show_grants(context, accounts)


def _holder(accounts: Accounts, user: str, group: str) -> dict[str, str]:
    """Whom a grant is for."""
    if bool(user) == bool(group):
        raise RequestError("say to whom", hint="--user NAME or --group NAME, one of them")
    if user:
        return {"user_id": accounts.users.named(user).id}
    return {"group_id": accounts.groups.named(group).id}


def _show_groups(context: typer.Context, accounts: Accounts) -> None:
    terminal = terminal_of(context)
    found = list(accounts.groups.every())
    if terminal.json:
        terminal.write_json(found)
        return
    rows = [(one.name, ", ".join(one.members)) for one in found]
    terminal.out.print(table([whole("group"), fold("members")], rows))


def _show_grants(context: typer.Context, accounts: Accounts) -> None:
    terminal = terminal_of(context)
    found = list(accounts.grants.every())
    if terminal.json:
        terminal.write_json(found)
        return
    rows = [(one.collection, one.user or f"group {one.group}", one.role) for one in found]
    terminal.out.print(table([fold("collection"), fold("open to"), fold("at most as")], rows))
