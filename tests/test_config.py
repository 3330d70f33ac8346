"""The table of settings, and where their values come from."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from wellread.config import ALIASES, SETTINGS_FILE, SettingRow, Settings, settings_table
from wellread.errors import SettingsError
from wellread.settings_file import load_settings, sources_of_settings, write_setting

TABLE = settings_table()


def value(settings: Settings, name: str) -> object:
    section, _, field = name.partition(".")
    return getattr(getattr(settings, section), field)


def write(home: Path, text: str) -> Path:
    path = home / SETTINGS_FILE
    path.write_text(text, encoding="utf-8")
    return path


def another(row: SettingRow) -> tuple[str, object]:
    """A valid value of the setting that is not its default: as written, and as read."""
    chosen: dict[str, tuple[str, object]] = {
        "embedding.backend": ("static", "static"),
        "retrieval.fusion": ("rrf", "rrf"),
        "citations.style": ("auto", "auto"),
        "verification.by": ("off", "off"),
        "generation.input_price": ("0.25", 0.25),
        "generation.output_price": ("0.75", 0.75),
        "transcription.price": ("0.25", 0.25),
        "research.dollars": ("0.75", 0.75),
        "budget.daily": ("1.5", 1.5),
        "budget.monthly": ("20", 20.0),
        "sources.exclude": ("*.log, drafts/", ("*.log", "drafts/")),
        "stories.kinds": ("page, paper", ("page", "paper")),
        "serve.names": ("a.example, b.example", ("a.example", "b.example")),
        "serve.proxies": ("10.0.0.1", ("10.0.0.1",)),
        "oidc.role": ("editor", "editor"),
    }
    if row.name in chosen:
        return chosen[row.name]
    if isinstance(row.default, bool):
        return str(not row.default).lower(), not row.default
    if isinstance(row.default, int):
        return str(row.default + 1), row.default + 1
    if isinstance(row.default, float):
        return str(row.default / 2), row.default / 2
    return "other", "other"


def test_the_table_has_every_setting_with_default_and_help() -> None:
    plain = Settings().model_dump()
    assert {row.name for row in TABLE} == {
        f"{section}.{name}" for section, names in plain.items() for name in names
    }
    assert len({row.variable for row in TABLE}) == len(TABLE)
    for row in TABLE:
        assert value(Settings(), row.name) == row.default
        assert row.help
        assert not row.help.endswith(".")
        assert row.variable == f"WELLREAD_{row.name.replace('.', '_').upper()}"
    assert {f"{section}.{name}" for section, name in ALIASES.values()} <= {r.name for r in TABLE}


def test_without_anything_the_defaults_count(tmp_path: Path) -> None:
    assert load_settings(tmp_path, environ={}) == Settings()
    assert load_settings(tmp_path / "nowhere", environ={"WELLREAD_HOME": "x"}) == Settings()


@pytest.mark.parametrize("row", TABLE, ids=lambda row: str(row.name))
def test_every_variable_sets_its_setting_and_no_other(tmp_path: Path, row: SettingRow) -> None:
    written, wanted = another(row)
    settings = load_settings(tmp_path, environ={row.variable: written})
    assert value(settings, row.name) == wanted
    assert value(settings, row.name) != row.default
    for other in TABLE:
        assert other is row or value(settings, other.name) == other.default


@pytest.mark.parametrize("alias", sorted(ALIASES))
def test_every_alias_sets_its_setting_and_yields_to_the_full_name(
    tmp_path: Path, alias: str
) -> None:
    name = ".".join(ALIASES[alias])
    (row,) = [row for row in TABLE if row.name == name]
    written, wanted = another(row)
    assert value(load_settings(tmp_path, environ={alias: written}), name) == wanted
    both = {alias: written, row.variable: str(row.default) or "default"}
    assert value(load_settings(tmp_path, environ=both), name) == (row.default or "default")


def test_arguments_beat_the_environment_and_that_beats_the_file(tmp_path: Path) -> None:
    write(tmp_path, "gaps:\n  ask_again: false\nqa:\n  max_clusters: 4\nserve:\n  port: 4\n")
    environ = {"WELLREAD_RETRIEVAL_TOP_K": "5", "WELLREAD_QA_MAX_CLUSTERS": "5"}
    settings = load_settings(tmp_path, {"retrieval": {"top_k": 6}}, environ)
    assert settings.retrieval.top_k == 6
    assert settings.qa.max_clusters == 5
    assert settings.serve.port == 4
    assert not settings.gaps.ask_again


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "---\n", "{}", "qa: {}"])
def test_a_file_may_be_empty(tmp_path: Path, text: str) -> None:
    write(tmp_path, text)
    assert load_settings(tmp_path, environ={}) == Settings()


def test_a_file_with_all_sections_under_qa_is_read(tmp_path: Path) -> None:
    (tmp_path / "wellread.yaml").write_text(
        "qa:\n  enabled: false\n  retrieval: {top_k: 5, rerank: true}\n"
        "  citations: {format: title}\nretrieval:\n  diversity: 0.5\n",
        encoding="utf-8",
    )
    settings = load_settings(tmp_path, environ={})
    assert not settings.qa.enabled
    assert (settings.retrieval.top_k, settings.retrieval.diversity) == (5, 0.5)
    assert (settings.citations.style, settings.reader.relevance) == ("title", "trained")
    write_setting(tmp_path, "retrieval.top_k", "7")
    assert load_settings(tmp_path, environ={}).retrieval.top_k == 7
    assert sources_of_settings(tmp_path)["citations.style"] == "wellread.yaml"


@pytest.mark.parametrize(
    "text",
    ["qa: [", "\tqa: 1", "- qa", "qa: 3", "word", "qa:\n  - enabled", "when: 2024-13-45"],
)
def test_a_file_that_is_no_table_of_settings_is_named(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path, environ={})
    assert str(path) in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / SETTINGS_FILE).write_bytes(b"qa:\n  x: \xff\xfe")
    with pytest.raises(SettingsError, match="cannot be read"):
        load_settings(tmp_path, environ={})
    (tmp_path / SETTINGS_FILE).unlink()
    (tmp_path / SETTINGS_FILE).mkdir()
    with pytest.raises(SettingsError, match="cannot be read"):
        load_settings(tmp_path, environ={})


@pytest.mark.parametrize(
    ("section", "name", "given"),
    [
        ("qa", "max_cluster", 3),
        ("question", "top_k", 3),
        ("serve", "port", 65536),
        ("serve", "port", -1),
        ("serve", "port", "many"),
        ("qa", "confidence_threshold", 1.01),
        ("qa", "enabled", "perhaps"),
        ("chunking", "tokens", 19),
        ("retrieval", "fusion", "best"),
        ("retrieval", "top_k", 0),
        ("embedding", "timeout", 0),
        ("embedding", "threads", -1),
        ("generation", "temperature", float("nan")),
        ("sources", "exclude", 3),
    ],
)
def test_unknown_names_and_values_out_of_range_are_named(
    tmp_path: Path, section: str, name: str, given: object
) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path, {section: {name: given}}, {})
    message = str(caught.value)
    assert "setting" in message
    assert "Input should" not in message
    if section != "question":
        assert f"{section}.{name}" in message


def test_a_name_that_resembles_a_setting_is_asked_about(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(SettingsError, match=r"no setting 'retrival' \(did you mean retrieval\?"):
        load_settings(tmp_path, {"retrival": {"top_k": 3}}, {})
    with pytest.raises(SettingsError, match=r"did you mean retrieval\.top_k"):
        load_settings(tmp_path, {"retrieval": {"topk": 3}}, {})
    load_settings(tmp_path, {}, {"WELLREAD_RETRIEVAL_TOPK": "3", "WELLREAD_SOME_PROGRAM": "x"})
    (record,) = caplog.records
    assert "did you mean WELLREAD_RETRIEVAL_TOP_K" in record.getMessage()


def test_settings_do_not_change() -> None:
    settings = Settings()
    with pytest.raises(ValidationError):
        setattr(settings.qa, "max_clusters", 9)  # noqa: B010 mypy knows it too
