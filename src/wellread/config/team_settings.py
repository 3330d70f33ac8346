"""Settings of a server that a team shares."""

from __future__ import annotations

from typing import ClassVar, Literal

from wellread.ask_settings import Section, setting


class UsersSettings(Section):
    """Sign-in and limits, once there are users (docs/users.md)."""

    session_days: float = setting(14.0, "days until a browser has to sign in again", gt=0)
    audit_days: int = setting(365, "days that the audit log is kept; 0: for ever", ge=0)
    requests_per_minute: int = setting(600, "requests of one user or key a minute; 0: any", ge=0)
    asks_per_minute: int = setting(30, "questions of one user or key a minute; 0: any", ge=0)
    tries_per_minute: ClassVar[int] = 5  # failed sign-ins a minute by one name, and four times as many by one address
    limits_storage: str = setting(
        "memory://", "where rates are counted: in each process, or redis://… for all of them"
    )


class OidcSettings(Section):
    issuer: str = setting("", "address of an identity provider (OpenID Connect); empty: none")
    client_id: str = setting("", "the name by which the provider knows this server")
    scopes: ClassVar[str] = "openid profile email"  # what the provider is asked for
    groups_claim: str = setting("groups", "the claim with the user's groups; empty: none")
    role: Literal["", "reader", "editor"] = setting(
        "reader", "role of somebody who comes for the first time; empty: they are not let in"
    )
