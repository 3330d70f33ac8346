"""What an answer says of removed documents beside its sentences: names, markers, suggestions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, select

from wellread.answers import Related
from wellread.store.catalogue.asking.redaction import blacked
from wellread.store.catalogue.asking.redaction_rows import blanked_titles, titles_pattern
from wellread.store.schema.document_tables import documents, entities
from wellread.store.schema.graph_tables import story_items

Plain = dict[str, Any]
# The version of an answer's evidence that it only names: nothing of it is quoted or told.
NAMED = ""
NO_ANSWER = "none"


def named(connection: Connection, related: Iterable[Related]) -> set[str]:
    """The documents whose titles an answer shows as related material."""
    return {known for one in related for known in _documents_of(connection, one)}


def _documents_of(connection: Connection, one: Related) -> Iterable[str]:
    if one.kind == "document":
        return (one.id,) if one.id else ()
    titled = select(documents.c.id).where(documents.c.title == one.title)
    if one.kind == "entity":
        statement = titled.join(entities, entities.c.document_id == documents.c.id).where(
            entities.c.entity_id == one.id
        )
        if one.collection:
            statement = statement.where(documents.c.collection == one.collection)
    else:
        statement = titled.join(story_items, story_items.c.document_id == documents.c.id).where(
            story_items.c.story_id == one.id
        )
    return connection.execute(statement.distinct()).scalars()


def without_names(body: Plain, gone: Mapping[str, str]) -> Plain:
    """An answer's body that does not name documents that are ``gone``.

    Related material and suggestions that name them are left out; elsewhere beside the text their
    titles are blacked out, and in the text of an answer that only names what is near.

    Args:
        gone: document id to the title that it had; may be empty.
    """
    if not gone:
        return body
    titles = titles_pattern(gone.values())
    lost = set(gone.values()) - {""}
    related = body.get("related", ())
    kept = [one for one in related if one.get("id") not in gone and one["title"] not in lost]
    changed = dict(body)
    if titles is not None:
        asked = body["question"]
        for name in ("notes", "premises"):
            changed[name] = [blanked_titles(each, titles) for each in body.get(name, ())]
        changed["conflicts"] = [_disagreement(one, titles) for one in body.get("conflicts", ())]
        changed["suggestions"] = [
            each for each in body.get("suggestions", ()) if not titles.search(each)
        ]
        if not titles.search(asked):
            changed["standalone"] = blanked_titles(body.get("standalone", ""), titles)
        if body["answered_by"] == NO_ANSWER and len(kept) < len(related):
            changed["text"] = blanked_titles(body["text"], titles)
    return {**changed, "related": kept}


def without_markers(body: Plain, text: str, citations: set[int]) -> str:
    """``text`` with the words in the markers of these citations blacked out; numbers stay."""
    for sentence in body["sentences"]:
        place = sentence["span"]["end"]
        for known in sentence["citations"]:
            start = text.find("[", place, place + 2)
            close = text.find("]", start)
            if start < 0 or close < 0:
                break
            inside = text[start + 1 : close]
            if known in citations and not inside.isdigit():
                text = f"{text[: start + 1]}{blacked(inside)}{text[close:]}"
            place = close + 1
    return text


def _disagreement(conflict: Plain, titles: re.Pattern[str]) -> Plain:
    views = conflict.get("views", ())
    return {
        **conflict,
        "about": blanked_titles(conflict["about"], titles),
        "reason": blanked_titles(conflict.get("reason", ""), titles),
        "views": [{**view, "text": blanked_titles(view["text"], titles)} for view in views],
    }
