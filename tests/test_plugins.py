"""Names in settings become what is built in, or what an installed package registered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from wellread import plugins
from wellread.errors import SettingsError

GROUP = "wellread.greetings"
BUILT_IN = {"hello": lambda: "hello", "unused": lambda: 1 / 0}

AddPackage = Callable[[Path, str, str], None]


def test_a_built_in_name_loads_only_itself(tmp_path: Path, add_package: AddPackage) -> None:
    module = tmp_path / "rude_greetings.py"
    module.write_text("raise ValueError('never imported')")
    add_package(module, GROUP, "hello = rude_greetings:HELLO")
    assert plugins.find(GROUP, "hello", BUILT_IN, "greeting.word") == "hello"


def test_a_package_adds_a_name(tmp_path: Path, add_package: AddPackage) -> None:
    module = tmp_path / "more_greetings.py"
    module.write_text("MOIN = 'moin'")
    add_package(module, GROUP, "moin = more_greetings:MOIN")
    assert plugins.find(GROUP, "moin", BUILT_IN, "greeting.word") == "moin"


def test_an_unknown_name_tells_the_known_ones(tmp_path: Path, add_package: AddPackage) -> None:
    module = tmp_path / "more_greetings.py"
    module.write_text("MOIN = 'moin'")
    add_package(module, GROUP, "moin = more_greetings:MOIN")
    with pytest.raises(SettingsError, match=r"greeting\.word is 'ahoy'") as raised:
        plugins.find(GROUP, "ahoy", BUILT_IN, "greeting.word")
    assert "hello, unused, moin" in str(raised.value.hint)


@pytest.mark.parametrize("code", ["raise RuntimeError('too old')", "OTHER = 1", "import nowhere"])
def test_a_package_that_fails_to_load_is_named(
    tmp_path: Path, add_package: AddPackage, code: str
) -> None:
    module = tmp_path / "broken_greetings.py"
    module.write_text(code)
    add_package(module, GROUP, "moin = broken_greetings:MOIN")
    with pytest.raises(SettingsError, match="broken_greetings"):
        plugins.find(GROUP, "moin", BUILT_IN, "greeting.word")
