"""Counters that never go down, over sums that may: a conversation that is removed takes its
answers along, and who collects counters takes a lower number for a restart and adds it all again.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection

from wellread.store.catalogue.documents.lookup import property_of, put_properties
from wellread.store.schema.database import CataloguePart

_KEPT = "metric_counters"  # key to [what the sum was when it was last told, what it lost before]
_NOTHING = 1e-9  # sums of floats differ by less from one time to the other

Counters = dict[str, list[float]]


class CounterRecords(CataloguePart):
    """What counters told last."""

    def never_less(self, sums: Mapping[str, float]) -> dict[str, float]:
        """Each sum with what it lost since it was first told; also those that are gone."""
        with self._database.read() as connection:
            kept = _told(connection)
            found = _counted(kept, sums)
        if found != kept:
            with self._database.write() as connection:
                found = _counted(_told(connection), sums)
                put_properties(connection, {_KEPT: found})
        return {key: now + lost for key, (now, lost) in found.items()}


def _told(connection: Connection) -> Counters:
    kept: Counters = property_of(connection, _KEPT) or {}
    return kept


def _counted(kept: Counters, sums: Mapping[str, float]) -> Counters:
    found: Counters = {}
    for key in sorted({*kept, *sums}):
        last, lost = kept.get(key, (0.0, 0.0))
        now = sums.get(key, 0.0)
        found[key] = [now, lost + (last - now if now < last - _NOTHING else 0.0)]
    return found
