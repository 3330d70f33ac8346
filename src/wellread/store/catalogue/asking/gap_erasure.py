"""What is forgotten of gaps: words of removed texts; and what removed sessions left."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, delete, or_, select, update

from wellread.identity import sentence_hash, tagged_hash
from wellread.store.catalogue.asking.removed_words import (
    RemovedWords,
    any_title_changed,
    changed_in,
    titles_changed,
)
from wellread.store.catalogue.documents.index_debts import note_deletion
from wellread.store.schema.database import chunks
from wellread.store.schema.learning_tables import feedback, gaps, notices
from wellread.store.schema.research_tables import research_runs
from wellread.store.schema.tables import answers

GAP_CLOSED = "gap_closed"  # the kind of notice that names the answer which closed a gap
FROM = ", from "  # in such a notice: after it stand the titles of what the answer cites


def forget_in_gaps(connection: Connection, removed: RemovedWords) -> None:
    """Take what gaps quote of removed texts out of them, and what their vectors tell of it."""
    changed = False
    for gap in connection.execute(select(gaps)).all():
        said = {
            "question": removed.blanked(gap.question),
            "reason": removed.blanked(gap.reason),
            "tried": removed.blanked(gap.tried),
            "limits": changed_in(gap.limits, removed.blanked),
        }
        if any(getattr(gap, name) != value for name, value in said.items()):
            key = gap_key(said["question"], gap.scope, said["limits"], gap.owner)
            gone = {"vector": None, "embedder": "", "key": key}
            connection.execute(update(gaps).where(gaps.c.id == gap.id).values(**said, **gone))
            changed = True
    told = select(notices.c.id, notices.c.text).where(notices.c.kind == GAP_CLOSED)
    for row in connection.execute(told).all():
        text = removed.blanked(row.text)
        if text != row.text:
            mine = notices.c.id == row.id
            connection.execute(update(notices).where(mine).values(text=text))
            changed = True
    if changed:
        note_deletion(connection)


def rename_in_gaps(connection: Connection, titles: Mapping[str, str]) -> None:
    """Put the new title in the place of each old one, where gaps and notices name sources.

    What was asked stays, and so does a reason that only repeats it.
    """
    change = titles_changed(titles.items())
    columns = (gaps.c.id, gaps.c.question, gaps.c.reason, gaps.c.tried)
    for gap in connection.execute(select(*columns)).all():
        said = {"reason": change(gap.reason), "tried": change(gap.tried)}
        same = said == {"reason": gap.reason, "tried": gap.tried}
        if not same and change(gap.question) == gap.question:
            connection.execute(update(gaps).where(gaps.c.id == gap.id).values(**said))
            note_deletion(connection)
    told = select(notices.c.id, notices.c.text).where(notices.c.kind == GAP_CLOSED)
    for row in connection.execute(told).all():
        asked, mark, names = row.text.rpartition(FROM)
        text = asked + mark + any_title_changed(titles)(names)
        if text != row.text:
            connection.execute(update(notices).where(notices.c.id == row.id).values(text=text))
            note_deletion(connection)


def forget_questions(connection: Connection, bodies: Collection[Mapping[str, Any]]) -> None:
    """Delete the gaps that these removed answers filed, unless another has the same question.

    With a gap goes the answer that closed it by itself, and what its owner was told of that.
    """
    for body in bodies:
        asked = " ".join(str(body.get("standalone") or body["question"]).split())
        filed = connection.execute(
            select(gaps.c.id, gaps.c.closed_by).where(
                or_(gaps.c.question == asked, gaps.c.answer_id == body["id"]),
                gaps.c.owner.in_({str(body.get("owner", "")), ""}),
            )
        ).all()
        closing = {row.closed_by for row in filed} - {""}
        same = select(answers.c.id).where(answers.c.question == asked, ~answers.c.id.in_(closing))
        if filed and connection.execute(same.limit(1)).first() is None:
            connection.execute(delete(gaps).where(gaps.c.id.in_([row.id for row in filed])))
            connection.execute(delete(answers).where(answers.c.id.in_(closing)))
            told = (notices.c.kind == GAP_CLOSED, notices.c.target.in_(closing))
            connection.execute(delete(notices).where(*told))
    gone = [str(body["id"]) for body in bodies]
    for some in chunks(gone):
        for column in (gaps.c.answer_id, gaps.c.closed_by):
            connection.execute(update(gaps).where(column.in_(some)).values({column: ""}))


def forget_conversation(
    connection: Connection, session_id: str, owner: str, answer_ids: Collection[str]
) -> None:
    """Delete the research of a session, and what was told of feedback on its answers."""
    runs = research_runs.c
    session = runs.request["question"]["session_id"].as_string()
    mine = (session == session_id, runs.owner == owner)
    connection.execute(delete(research_runs).where(*mine))
    for some in chunks(answer_ids):
        connection.execute(delete(research_runs).where(runs.answer_id.in_(some)))
        given = select(feedback.c.id).where(feedback.c.answer_id.in_(some))
        targets = [*connection.execute(given).scalars(), *some]
        connection.execute(delete(notices).where(notices.c.target.in_(targets)))


def gap_key(question: str, scope: Sequence[str], limits: Mapping[str, Any], owner: str) -> str:
    """Two questions with the same key are one gap: case and punctuation do not count."""
    told = [f"{name}={limits[name]}" for name in sorted(limits)]
    return tagged_hash("gap", sentence_hash(question), *scope, "/", *told, "/", owner)
