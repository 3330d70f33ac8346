"""What ``verify`` can find wrong: one name for each kind of damage."""

from __future__ import annotations

from dataclasses import dataclass

# --- the index against the catalogue ---
MISSING = "missing from the index"
ORPHAN = "in the index but not live"
DUPLICATE = "more than once in the index"
DIFFERENT = "row of the index differs from the catalogue"
UNREADABLE = "the index cannot be read"
NEXT_LOST = "the index in the making cannot be read"
UNSEARCHABLE = "searches do not find what the index holds"
STRAY = "index that is not in use"
UNFINISHED = "left by an interrupted run"
NO_VECTOR = "without a vector that is on its way"
PAID = "noted as without vectors, but has them"
VOID = "noted as without vectors in another version"
STAGED = "left by an interrupted re-indexing"

# --- texts, marks, passages ---
DAMAGED = "text does not match its version"
MARKS = "mark outside its text"
OUTSIDE = "passage outside its text"
OVERLAPPING = "passages overlap or are out of order"
UNCOVERED = "text that is in no passage"
MISNAMED = "passage of another version or place"
MISCALLED = "names that a document is looked up by are not its own"
MISCOUNTED = "number of passages is noted wrong"

# --- the rest of the catalogue ---
CATALOGUE = "the catalogue cannot be used as it is"
BACKUP = "backup is damaged"
FILE = "damage in the catalogue's file"
REFERENCE = "row that points to nothing"
UNSOURCED = "document without a source"
EMPTIED = "source whose documents are gone"
NOT_STALE = "answer that rests on what changed, and is not marked"
QUOTING = "answer that quotes what was removed, or names it by a former title"
MENTIONS = "mentions of another version or outside the text"
ITEMS = "story items of another version or outside the text"
DEAD_JOB = "job whose process is gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that does not match.

    Attributes:
        subject: the id of a document, an answer or a job, or the name of a table or index.
    """

    kind: str
    subject: str
    detail: str
    repaired: bool = False
