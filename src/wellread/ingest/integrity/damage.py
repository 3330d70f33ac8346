"""The kinds of damage that ``verify`` can find, each with its name in reports."""

from __future__ import annotations

from dataclasses import dataclass

# --- the index against the catalogue ---
MISSING = "missing from the index"
ORPHAN = "in the index but not live"
DUPLICATE = "more than once in the index"
DIFFERENT = "index row differs from the catalogue"
UNREADABLE = "the index cannot be read"
UNSEARCHABLE = "searches miss rows that the index contains"
STRAY = "unused index"
UNFINISHED = "left by an interrupted run"
NO_VECTOR = "missing vector that is not pending"
HAS_VECTORS = "marked as without vectors, but has them"
OUTDATED_PENDING = "marked as without vectors in another version"

# --- texts, marks, passages ---
DAMAGED = "text does not match its version"
MARKS = "mark outside its text"
OUTSIDE = "passage outside its text"
OVERLAPPING = "passages overlap or are out of order"
UNCOVERED = "text outside all passages"
MISNAMED = "passage id of another version or position"
WRONG_LOOKUP_NAMES = "lookup names do not match the document"
MISCOUNTED = "recorded number of passages is wrong"

# --- the rest of the catalogue ---
CATALOGUE = "the catalogue cannot be used"
BACKUP = "backup is damaged"
FILE = "damage in the catalogue's file"
REFERENCE = "row that refers to a missing row"
UNSOURCED = "document without a source"
SOURCE_WITHOUT_DOCUMENTS = "source whose documents are gone"
NOT_STALE = "answer that cites changed documents but is not marked as outdated"
QUOTING = "answer that quotes removed text or names it by a former title"
MENTIONS = "mentions of another version or outside the text"
ITEMS = "story items of another version or outside the text"
DEAD_JOB = "job whose process is gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A problem that ``verify`` found.

    Attributes:
        subject: the id of a document, an answer or a job, or the name of a table or index.
    """

    kind: str
    subject: str
    detail: str
    repaired: bool = False
