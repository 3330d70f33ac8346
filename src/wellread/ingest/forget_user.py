"""The right to be forgotten, down to the bytes of the home."""

from __future__ import annotations

from dataclasses import dataclass

from wellread.ingest.integrity.purge import Trace, find_traces, needles, purge, said_elsewhere
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.forgetting import Forgotten


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetReport:
    """What went with a user.

    Attributes:
        purged: whether no byte of it is left on the disk; else ``verify --repair`` sees to it.
        traces: where something that they wrote still stands.
    """

    forgotten: Forgotten
    purged: bool
    traces: tuple[Trace, ...] = ()


def forget_user(kb: KnowledgeBase, user_id: str) -> ForgetReport:
    """Remove an account and all that it asked, rated and preferred, and prove it.

    What documents say as well (a question may quote one) is no trace.

    Raises:
        RequestError: nobody would be left who may manage users.
        StoreError: a store refused.
    """
    forgotten = kb.catalogue.forgetting_users.forget(user_id)
    purged = purge(kb)
    wanted = [user_id, *needles(forgotten.texts)]
    besides = said_elsewhere(kb, wanted, ())
    found = find_traces(kb, [one for one in wanted if one not in besides])
    return ForgetReport(forgotten=forgotten, purged=purged, traces=tuple(found))
