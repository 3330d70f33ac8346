"""What is made of a collection as a whole, once a run has written its sources."""

from __future__ import annotations

from wellread.ingest.linking.mention_linking import link_mentions
from wellread.ingest.stories.story_refresh import refresh
from wellread.kb import KnowledgeBase


def finish_run(kb: KnowledgeBase, collection: str) -> None:
    """Bring what joins documents up to date: who names whom, and what belongs to one story.

    Cheap when nothing changed; safe to kill, since the next run takes up what is left.

    Raises:
        StoreError: the catalogue refused.
        ModelError: the embedder failed.
    """
    linked = link_mentions(kb.catalogue, collection)
    stories = refresh(kb, collection)
    if linked.scanned or stories.documents or stories.told:
        kb.catalogue.answer_cache.joined(collection)  # answers before it knew less
