"""The tables. Migrations build them; a test holds the two together.

Text and marks stand in tables of their own, so that lists, filters and look-ups of facts read
small rows only.
"""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)

# The newest migration; opening compares it with the database before it loads Alembic.
HEAD = "0003"


class Moment(TypeDecorator[datetime]):
    """A moment, kept and given back in UTC. Without a zone it is taken as UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """To UTC; SQLite keeps no zone, so it gets none."""
        if value is None:
            return None
        moment = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """With the zone again."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if dialect.name == "sqlite" else value.astimezone(UTC)


metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def document_key(*, primary_key: bool = False) -> Column[str]:
    """A column that points to a document and goes with it."""
    return Column(
        "document_id",
        String,
        ForeignKey("documents.id", ondelete="CASCADE"),
        primary_key=primary_key,
        nullable=False,
    )


documents = Table(
    "documents",
    metadata,
    Column("id", String, primary_key=True),
    Column("collection", String, nullable=False),
    Column("uri", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("title", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("source_type", String, nullable=False),
    Column("language", String, nullable=False),
    Column("authors", JSON, nullable=False),
    Column("published_at", Moment),
    Column("summary", Text, nullable=False),
    Column("media_url", Text, nullable=False),
    Column("taxonomy", JSON, nullable=False),
    Column("version", String, nullable=False),
    Column("facts", String, nullable=False),
    Column("characters", Integer, nullable=False),
    Column("passages", Integer, nullable=False),
    Column("source_uri", String, nullable=False),
    Column("added_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    UniqueConstraint("collection", "uri"),
    Index(None, "collection", "source_uri"),
)

# The text in pieces of PIECE characters: a passage of a long book costs no more to read than one
# of a short note. Piece ``n`` starts at character ``n * PIECE``; an empty text is one empty piece.
PIECE = 4096

texts = Table(
    "texts",
    metadata,
    document_key(primary_key=True),
    Column("piece", Integer, primary_key=True, autoincrement=False),
    Column("text", Text, nullable=False),
)

marks = Table(
    "marks",
    metadata,
    document_key(primary_key=True),
    Column("blob", LargeBinary, nullable=False),
)

passages = Table(
    "passages",
    metadata,
    Column("id", String, primary_key=True),
    document_key(),
    Column("version", String, nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("start", Integer, nullable=False),
    Column("end", Integer, nullable=False),
    Column("context", Text, nullable=False),
    Column("speakers", JSON, nullable=False),
    UniqueConstraint("document_id", "ordinal"),
)

sources = Table(
    "sources",
    metadata,
    Column("collection", String, primary_key=True),
    Column("uri", String, primary_key=True),
    Column("size", BigInteger, nullable=False),
    Column("mtime_ns", BigInteger, nullable=False),
    Column("digest", String, nullable=False),
    Column("loader", String, nullable=False),
    Column("status", String, nullable=False),
    Column("reason", Text, nullable=False),
    Column("seen_at", Moment, nullable=False),
    # The input under which it was found: a folder, a feed, itself.
    Column("root", String, nullable=False, server_default=""),
    # What the web server said for the next conditional request.
    Column("etag", String, nullable=False, server_default=""),
    Column("last_modified", String, nullable=False, server_default=""),
    Column("poll_after", Moment),
)

entities = Table(
    "entities",
    metadata,
    document_key(primary_key=True),
    Column("entity_id", String, nullable=False, index=True),
    Column("entity_type", String, nullable=False),
    Column("aliases", JSON, nullable=False),
)

relations = Table(
    "relations",
    metadata,
    document_key(primary_key=True),
    Column("ordinal", Integer, primary_key=True, autoincrement=False),
    Column("source", String, nullable=False, index=True),
    Column("type", String, nullable=False),
    # Not a foreign key: an edge may point to an entity that is not there yet.
    Column("target", String, nullable=False, index=True),
)

past_questions = Table(
    "past_questions",
    metadata,
    document_key(primary_key=True),
    Column("question", Text, nullable=False),
    Column("score", Integer),
    Column("body", JSON, nullable=False),
)

answers = Table(
    "answers",
    metadata,
    Column("id", String, primary_key=True),
    Column("created_at", Moment, nullable=False, index=True),
    Column("session_id", String, nullable=False, index=True),
    Column("question", Text, nullable=False),
    Column("answered_by", String, nullable=False),
    Column("confidence", Float, nullable=False),
    Column("stale", Boolean, nullable=False),
    Column("body", JSON, nullable=False),
    Column("owner", String, nullable=False, server_default=""),
)

answer_evidence = Table(
    "answer_evidence",
    metadata,
    Column("answer_id", String, ForeignKey("answers.id", ondelete="CASCADE"), primary_key=True),
    Column("ordinal", Integer, primary_key=True, autoincrement=False),
    # Not a foreign key: an answer outlives the documents that it rests on.
    Column("document_id", String, nullable=False, index=True),
    Column("version", String, nullable=False),
    Column("start", Integer, nullable=False),
    Column("end", Integer, nullable=False),
)

index_writes = Table(
    "index_writes",
    metadata,
    Column("document_id", String, primary_key=True),
    Column("version", String, primary_key=True),
    Column("action", String, nullable=False),
    Column("run", String, nullable=False),
)

properties = Table(
    "properties",
    metadata,
    Column("key", String, primary_key=True),
    Column("value", JSON, nullable=False),
)

gaps = Table(
    "gaps",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("question", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
)
