"""Finds by name what the package brings itself and what other installed packages add to it.

A package adds an embedder, say, with an entry point in the group ``wellread.embedders``; the
settings then name it as they name a built-in one. A built-in name cannot be taken by a package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from wellread.errors import SettingsError

INDEXES = "wellread.indexes"  # of ``store.base.IndexBackend``
LOADERS = "wellread.loaders"  # of ``ingest.loaders.base.Loader``, named by a file's extension

T = TypeVar("T")


def find(group: str, name: str, built_in: Mapping[str, Callable[[], T]], setting: str) -> T:
    """What ``name`` stands for: the built-in one, loaded now, or what a package registered.

    Args:
        built_in: what loads each of the package's own, so that only the chosen one is imported.
        setting: the setting that holds the name, for messages.

    Raises:
        SettingsError: nothing has that name, or the package that registered it fails to load.
    """
    if name in built_in:
        return built_in[name]()
    added = installed(group)
    if name not in added:
        known = ", ".join([*built_in, *sorted(added)])
        raise SettingsError(
            f"{setting} is {name!r}, which nothing is registered as",
            hint=f"known are: {known}; install the package that adds {name!r}, or name another",
        )
    loaded: T = load(added[name])
    return loaded


@cache
def installed(group: str) -> Mapping[str, EntryPoint]:
    """Name to entry point of everything that packages add to ``group``; nothing is imported."""
    return {point.name: point for point in entry_points(group=group)}


def load(point: EntryPoint) -> Any:
    """What the entry point names, imported.

    Raises:
        SettingsError: the package cannot be imported or lacks it.
    """
    try:
        return point.load()
    except Exception as error:
        package = point.dist.name if point.dist else point.module
        raise SettingsError(
            f"{point.name!r} of the package {package} cannot be loaded: {error}",
            hint=f"upgrade or remove {package}",
        ) from error
