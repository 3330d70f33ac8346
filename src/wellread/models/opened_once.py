"""A property that is worked out when it is first asked for, by one thread, and then kept.

``functools.cached_property`` lets two threads work it out at once since Python 3.12: a model is
loaded twice then, or a second connection is opened that nobody closes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class opened_once(Generic[T]):  # noqa: N801 - written as @property is
    """Decorates a method without arguments; ``del`` and ``__dict__`` work as for the standard one.

    Threads that come while it is worked out wait, whichever object they ask.
    """

    def __init__(self, work_out: Callable[[Any], T]) -> None:
        self._work_out = work_out
        self._lock = threading.RLock()
        self.__doc__ = work_out.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is None:
            return self
        kept = vars(instance)
        with self._lock:  # once it is kept, Python does not come here
            if self._name not in kept:
                kept[self._name] = self._work_out(instance)
            made: T = kept[self._name]
            return made
