"""What is read of all feedback once, and held until any of it changes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from wellread.kb import KnowledgeBase

T = TypeVar("T")


class Held(Generic[T]):
    """One value per knowledge base and what may be read of it, held as long as the feedback stays.

    Args:
        make: reads the value from the catalogue.
        hangs_on: what it hangs on beside the feedback.
    """

    def __init__(
        self,
        make: Callable[[KnowledgeBase], T],
        hangs_on: Callable[[KnowledgeBase], str] = lambda _: "",
    ) -> None:
        self._make = make
        self._hangs_on = hangs_on
        self._values: WeakKeyDictionary[object, tuple[str, T]] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def of(self, kb: KnowledgeBase) -> T:
        """The value as the feedback stands; one small query while nothing has changed.

        Raises:
            StoreError: the catalogue cannot be read.
        """
        # The stamp is read first: a change in between makes the value be read again, never late.
        stamp = f"{kb.catalogue.feedback.stamp()} {self._hangs_on(kb)}"
        known = self._values.get(kb.common)
        if known is not None and known[0] == stamp:
            return known[1]
        with self._lock:
            made = self._make(kb)
            self._values[kb.common] = (stamp, made)
            return made
