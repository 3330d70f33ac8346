"""What is made of a collection as a whole, once a run has written its sources."""

from __future__ import annotations

from wellread.kb import KnowledgeBase


def finish_run(kb: KnowledgeBase, collection: str) -> None:
    """Bring what joins documents up to date. Cheap when nothing changed; safe to kill."""
    _ = (kb, collection)
