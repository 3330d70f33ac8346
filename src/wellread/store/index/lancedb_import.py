"""Imports LanceDB without its client of remote catalogues; import this before any part of it.

LanceDB's embedded tables never contact a remote catalogue, yet importing it loads the generated
client for them: 166 modules of pydantic models, most of its import time. During the import here,
every name of that client is a ``_LazyClass``, which loads the client when it is first used. The
``overrides`` package, whose checks are disabled on Python 3.12 anyway, is replaced by a stub.
Measured on 2 vCPU, processor time: 2.2 s before, 0.7 s after.

The log level must be set before the import (users cannot act on its clustering warnings), and the
number of memory arenas before LanceDB starts its threads: glibc gives every allocating thread its
own arena, up to eight per core, and frees none of the memory below an arena's newest block. Adding
40 MB of files peaks at 1,045-1,136 MiB, but at 823 MiB with two arenas (2 vCPU, same duration).
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

M_ARENA_MAX = -8  # from <malloc.h>
ARENAS = 2
CLIENT = "lance_namespace_urllib3_client"
CHECKS = "overrides"


class _LazyClass(type):
    """The type of a placeholder for a client class: using it loads and uses the real class."""

    def _real(cls) -> Any:
        return getattr(import_module(cls.__module__), cls.__name__)

    def __call__(cls, *args: Any, **named: Any) -> Any:
        return cls._real()(*args, **named)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):  # Python's own lookups while it creates LanceDB's classes
            raise AttributeError(name)
        return getattr(cls._real(), name)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls._real())


class _StubFinder(MetaPathFinder, Loader):
    """Provides stub modules for the client, whose names are ``_LazyClass`` placeholders."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> Any:  # noqa: ARG002
        """Claim every module of the client as a package, since any may have submodules."""
        is_client = name.partition(".")[0] == CLIENT
        return ModuleSpec(name, self, is_package=True) if is_client else None

    def exec_module(self, module: ModuleType) -> None:
        """Give the module a ``__getattr__`` that creates placeholders on demand."""

        def made(name: str) -> _LazyClass:
            if name.startswith("__"):
                raise AttributeError(name)
            remote = _LazyClass(name, (), {"__module__": module.__name__})
            setattr(module, name, remote)  # the same class for the same name
            return remote

        vars(module)["__getattr__"] = made


@contextmanager
def _without_client() -> Iterator[None]:
    """Replace the client by stubs inside the context; later imports get the real client."""
    finder = _StubFinder()
    plain = ModuleType(CHECKS)
    vars(plain).update(EnforceOverrides=object, override=lambda method: method)
    original = sys.modules.get(CHECKS)
    sys.modules[CHECKS] = plain
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        del sys.modules[CHECKS]
        if original:
            sys.modules[CHECKS] = original
        for name, module in list(sys.modules.items()):
            if getattr(module, "__loader__", None) is finder:
                del sys.modules[name]


def bound_arenas() -> bool:
    """Limit glibc's arenas unless ``MALLOC_ARENA_MAX`` is set; return whether that was done.

    Call it before threads start. Other C libraries are not changed.
    """
    if "MALLOC_ARENA_MAX" in os.environ or platform.libc_ver()[0] != "glibc":
        return False
    return bool(ctypes.CDLL(None).mallopt(M_ARENA_MAX, ARENAS))


os.environ.setdefault("LANCEDB_LOG", "error")
bound_arenas()
with _without_client():
    import lancedb  # noqa: F401
