"""Users, groups, grants, keys, sign-ins and the audit log; whose calls of models were."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from wellread.store.migrations.making import MOMENT, cascade, filled, make_table

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the tables, and the column."""
    make_table(
        "users",
        *filled(sa.String, "id", "name", "role", "password"),
        *filled(sa.Boolean, "disabled"),
        *filled(MOMENT, "created_at"),
        *filled(sa.String, "issuer", "subject"),
        sa.Column("monthly_dollars", sa.Float),
        sa.UniqueConstraint("name", name=op.f("uq_users_name")),
    )
    make_table(
        "user_groups",
        *filled(sa.String, "id", "name", "source"),
        sa.Column("monthly_dollars", sa.Float),
        sa.UniqueConstraint("name", name=op.f("uq_user_groups_name")),
    )
    make_table(
        "group_members",
        *filled(sa.String, "group_id", "user_id", "source"),
        cascade("fk_group_members_group_id_user_groups", "group_id", "user_groups"),
        cascade("fk_group_members_user_id_users", "user_id", "users"),
        key=("group_id", "user_id"),
    )
    make_table(
        "grants",
        *filled(sa.Integer, "id"),
        *filled(sa.String, "collection", "role"),
        sa.Column("user_id", sa.String),
        sa.Column("group_id", sa.String),
        cascade("fk_grants_user_id_users", "user_id", "users"),
        cascade("fk_grants_group_id_user_groups", "group_id", "user_groups"),
        indexes=("user_id", "group_id"),
    )
    _ways_in()
    make_table(
        "audit",
        *filled(sa.Integer, "id"),
        *filled(MOMENT, "at"),
        *filled(sa.String, "user_id", "key_id", "address", "action"),
        *filled(sa.Text, "target"),
        *filled(sa.String, "answer_id"),
        *filled(sa.JSON, "documents"),
        *filled(sa.String, "outcome"),
        indexes=("at", "user_id", "answer_id"),
    )
    with op.batch_alter_table("provider_calls") as table:
        table.add_column(sa.Column("owner", sa.String, nullable=False, server_default=""))
    op.create_index(op.f("ix_provider_calls_owner_at"), "provider_calls", ["owner", "at"])


def _ways_in() -> None:
    make_table(
        "api_keys",
        *filled(sa.String, "id", "digest", "user_id", "name", "start"),
        *filled(sa.JSON, "scopes"),
        sa.Column("collections", sa.JSON),
        *filled(MOMENT, "created_at"),
        sa.Column("expires_at", MOMENT),
        sa.Column("used_at", MOMENT),
        cascade("fk_api_keys_user_id_users", "user_id", "users"),
        sa.UniqueConstraint("digest", name=op.f("uq_api_keys_digest")),
        indexes=("user_id",),
    )
    make_table(
        "web_sessions",
        *filled(sa.String, "id", "digest", "user_id"),
        *filled(MOMENT, "created_at", "used_at", "expires_at"),
        *filled(sa.Text, "agent"),
        cascade("fk_web_sessions_user_id_users", "user_id", "users"),
        sa.UniqueConstraint("digest", name=op.f("uq_web_sessions_digest")),
        indexes=("user_id",),
    )
    make_table(
        "sign_in_attempts",
        *filled(sa.String, "digest"),
        *filled(MOMENT, "expires_at"),
        *filled(sa.String, "state", "nonce", "verifier"),
        *filled(sa.Text, "target"),
        key=("digest",),
    )


def downgrade() -> None:
    """Take them out again."""
    op.drop_index(op.f("ix_provider_calls_owner_at"), "provider_calls")
    with op.batch_alter_table("provider_calls") as table:
        table.drop_column("owner")
    for name in _TABLES:
        op.drop_table(name)


_TABLES = (
    "audit",
    "sign_in_attempts",
    "web_sessions",
    "api_keys",
    "grants",
    "group_members",
    "user_groups",
    "users",
)
