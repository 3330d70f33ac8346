"""Users whom an identity provider vouches for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from wellread.store.catalogue.accounts.group_records import follow_provider
from wellread.store.catalogue.accounts.user_records import (
    COLUMNS,
    LOCAL,
    LONGEST_NAME,
    made_user,
    make_user,
)
from wellread.store.schema.account_tables import users
from wellread.store.schema.account_values import Role, User
from wellread.store.schema.database import CataloguePart


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What a provider says of somebody.

    Attributes:
        issuer, subject: by which they are known again, and by nothing else.
        name: what they are called there; groups: those they are in, None when it does not say.
    """

    issuer: str
    subject: str
    name: str
    groups: tuple[str, ...] | None = None


class ProviderUsers(CataloguePart):
    """Accounts without a password here."""

    def enter(self, identity: Identity, role: Role | None) -> User | None:
        """The account of somebody who has come from the provider, in its groups of today.

        An account with a password is never taken for theirs, whatever its name.

        Args:
            role: of an account that is made for them; None: none is made.

        Returns:
            None when they have no account, or may not sign in.
        """
        known = (users.c.issuer == identity.issuer, users.c.subject == identity.subject)
        with self._database.write() as connection:
            row = connection.execute(select(*COLUMNS, LOCAL).where(*known)).first()
            user = made_user(row) if row else None
            if user is None and role is not None:
                user = make_user(
                    connection,
                    _free_name(connection, identity.name),
                    role,
                    issuer=identity.issuer,
                    subject=identity.subject,
                )
            if user is None or user.disabled:
                return None
            if identity.groups is not None:
                follow_provider(connection, user.id, _plain(identity.groups))
            return user


def _free_name(connection: Connection, wanted: str) -> str:
    """The name, or the name with a number where somebody has it."""
    (name,) = _plain((wanted,)) or ("user",)
    taken = set(connection.execute(select(users.c.name)).scalars())
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return free


def _plain(names: Sequence[str]) -> tuple[str, ...]:
    """Names of elsewhere as ours are: without capitals and white space."""
    made = ("-".join(name.casefold().split())[: LONGEST_NAME - 5] for name in names)
    return tuple(dict.fromkeys(one for one in made if one and one.isprintable()))
