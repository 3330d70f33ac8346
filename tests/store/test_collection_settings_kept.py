"""The settings of a collection are kept under its name."""

from __future__ import annotations

from pathlib import Path

from wellread.store.catalogue import Catalogue


def test_settings_are_kept_and_replaced(tmp_path: Path) -> None:
    where = tmp_path / "catalogue.db"
    catalogue = Catalogue.open(where)
    assert catalogue.collection_settings.settings("boats") is None
    catalogue.collection_settings.set_settings("boats", {"rules": [{"match": ["a"]}]})
    catalogue.collection_settings.set_settings("ships", {})
    catalogue.collection_settings.set_settings("boats", {"rules": []})
    catalogue.close()
    again = Catalogue.open(where)
    assert again.collection_settings.settings("boats") == {"rules": []}
    assert again.collection_settings.settings("ships") == {}
    again.close()
