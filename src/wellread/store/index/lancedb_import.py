"""Imports LanceDB without its clients of remote catalogues; import this before any part of it.

LanceDB's embedded tables never speak to a catalogue elsewhere, yet importing it loads the generated
client of such catalogues: 166 modules of pydantic models, most of its seconds. While it is imported
here, a name of that client is a ``_Remote``, which loads the client when it is first used. And the
library that compares the signatures of its methods, which it does without on Python 3.12, is stood
in for by what it uses there. Measured on 2 vCPU, processor time: 2.2 s before, 0.7 s after.

It has to be told on import how much to log (warnings of its clustering say nothing to a user), and
before it starts its threads how memory is shared out: glibc gives every thread that allocates an
arena of its own, up to eight a core, and an arena does not give back what lies below its newest
block. Adding 40 MB of files then peaks at 1,045-1,136 MiB; with two arenas at 823 MiB, in the
same time (2 vCPU, ``benchmarks.large``).
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

M_ARENA_MAX = -8  # of <malloc.h>
ARENAS = 2
CLIENT = "lance_namespace_urllib3_client"
CHECKS = "overrides"


class _Remote(type):
    """The class of a name of the client: any use of the name is one of what it stands for."""

    def _real(cls) -> Any:
        return getattr(import_module(cls.__module__), cls.__name__)

    def __call__(cls, *args: Any, **named: Any) -> Any:
        return cls._real()(*args, **named)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):  # what Python itself looks for while LanceDB's classes are made
            raise AttributeError(name)
        return getattr(cls._real(), name)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls._real())


class _Hollow(MetaPathFinder, Loader):
    """Finds modules of the client and puts nothing into them but a ``_Remote`` of each name."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> Any:  # noqa: ARG002
        """That of a package, as each of them may hold others."""
        ours = name.partition(".")[0] == CLIENT
        return ModuleSpec(name, self, is_package=True) if ours else None

    def exec_module(self, module: ModuleType) -> None:
        """Make its names when they are asked for."""

        def made(name: str) -> _Remote:
            if name.startswith("__"):
                raise AttributeError(name)
            remote = _Remote(name, (), {"__module__": module.__name__})
            setattr(module, name, remote)  # the same class for the same name
            return remote

        vars(module)["__getattr__"] = made


@contextmanager
def _without_client() -> Iterator[None]:
    """Whoever imports the client afterwards gets it; one that is loaded already is used."""
    finder = _Hollow()
    plain = ModuleType(CHECKS)
    vars(plain).update(EnforceOverrides=object, override=lambda method: method)
    there = sys.modules.get(CHECKS)
    sys.modules[CHECKS] = plain
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        del sys.modules[CHECKS]
        if there:
            sys.modules[CHECKS] = there
        for name, module in list(sys.modules.items()):
            if getattr(module, "__loader__", None) is finder:
                del sys.modules[name]


def bound_arenas() -> bool:
    """Bound the arenas of this process, unless ``MALLOC_ARENA_MAX`` says how many; whether done.

    It has to be called before the threads start. Other C libraries are left as they are.
    """
    if "MALLOC_ARENA_MAX" in os.environ or platform.libc_ver()[0] != "glibc":
        return False
    return bool(ctypes.CDLL(None).mallopt(M_ARENA_MAX, ARENAS))


os.environ.setdefault("LANCEDB_LOG", "error")
bound_arenas()
with _without_client():
    import lancedb  # noqa: F401
