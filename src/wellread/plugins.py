"""Finds built-in parts and plug-ins of other packages by name.

A package adds an embedder, for example, with an entry point in the group ``wellread.embedders``;
the settings then name it like a built-in one. A plug-in cannot replace a built-in name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from wellread.errors import SettingsError

# Groups of entry points: of ``store.base.IndexBackend``, and of ``ingest.loaders.base.Loader``.
INDEXES, LOADERS = "wellread.indexes", "wellread.loaders"  # a loader is named by file extension
SOURCES = "wellread.sources"  # of ``ingest.sources.stores.Store``, named by the address's scheme

T = TypeVar("T")


def find(group: str, name: str, built_in: Mapping[str, Callable[[], T]], setting: str) -> T:
    """Load the built-in part ``name``, or the plug-in with that name.

    Args:
        built_in: loaders of the built-in parts, so that only the chosen one is imported.
        setting: the setting that contains the name, for messages.

    Raises:
        SettingsError: the name is unknown, or its package fails to load.
    """
    if name in built_in:
        return built_in[name]()
    plugins = installed(group)
    if name not in plugins:
        choices = ", ".join([*built_in, *sorted(plugins)])
        raise SettingsError(
            f"{setting} is {name!r}, but no such plug-in is installed",
            hint=f"known are: {choices}; install the package that adds {name!r}, or name another",
        )
    loaded: T = load(plugins[name])
    return loaded


@cache
def installed(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of ``group`` by name, without importing them."""
    return {point.name: point for point in entry_points(group=group)}


def load(point: EntryPoint) -> Any:
    """Import and return the object that an entry point names.

    Raises:
        SettingsError: the package cannot be imported or lacks the object.
    """
    try:
        return point.load()
    except Exception as error:
        package = point.dist.name if point.dist else point.module
        raise SettingsError(
            f"{point.name!r} of the package {package} cannot be loaded: {error}",
            hint=f"upgrade or remove {package}",
        ) from error
