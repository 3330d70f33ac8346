"""One table of settings: name, default, environment variable, help.

Values come from, in falling order of strength: arguments, ``WELLREAD_<SECTION>_<NAME>``
environment variables, the short ``QA_*`` aliases, ``wellread.yaml`` in the home, the defaults.
Settings are read once, frozen, and build nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, Field, ValidationError, field_validator

from wellread.ask_settings import (
    BudgetSettings,
    CacheSettings,
    CitationSettings,
    ContextSettings,
    FeaturesSettings,
    GenerationSettings,
    QaSettings,
    ReaderSettings,
    Section,
)
from wellread.errors import SettingsError

SETTINGS_FILE = "wellread.yaml"
ALIASES: Mapping[str, tuple[str, str]] = {
    "QA_ENABLED": ("qa", "enabled"),
    "QA_MODEL": ("generation", "model"),
    "QA_MAX_OUTPUT_TOKENS": ("generation", "max_tokens"),
    "QA_MAX_CLUSTERS": ("qa", "max_clusters"),
    "QA_MAX_CONTEXT_CHARS": ("context", "max_characters"),
}


# Sections of earlier releases, and what says the same today.
GONE: Mapping[str, str] = {
    "rerank": "reader.relevance: onnx, http or llm; the others are reader.depth, reader.url …",
    "verification": "reader.entails: onnx, http or llm; the others are reader.entails_path, "
    "reader.entails_url, reader.most …",
}


def _split(given: object) -> object:
    if not isinstance(given, str):
        return given
    return tuple(part for part in (each.strip() for each in given.split(",")) if part)


class EmbeddingSettings(Section):
    backend: str = Field(
        default="local",
        min_length=1,
        description="which embedder: local (the built-in model), static (its fast form), http, or "
        "the name of a plug-in",
    )
    model_path: str = Field(
        default="", description="model file to use instead of the installed package's"
    )
    url: str = Field(default="", description="base URL of an OpenAI-compatible server (…/v1)")
    model: str = Field(default="", description="model name to ask the HTTP server for")
    api_key_env: str = Field(
        "OPENAI_API_KEY", description="environment variable that holds the server's key"
    )
    timeout: float = Field(default=60.0, gt=0, description="seconds to wait for one HTTP call")
    threads: int = Field(
        default=0, ge=0, description="threads of the local model; 0 takes all cores"
    )


class IndexSettings(Section):
    backend: str = Field(
        default="lancedb",
        description="which search index: the built-in one, or one that an installed package adds",
    )


class ChunkingSettings(Section):
    tokens: int = Field(default=200, ge=20, le=2000, description="size of a passage in word pieces")


class SourceSettings(Section):
    max_bytes: int = Field(default=200_000_000, gt=0, description="largest file that is read")
    max_pages: int = Field(default=5_000, gt=0, description="most pages of one PDF")
    max_unpacked: int = Field(
        default=1 << 30, gt=0, description="most bytes that an Office file may unpack to"
    )
    max_cells: int = Field(default=2_000_000, gt=0, description="most filled cells of one workbook")
    max_seconds: float = Field(
        default=120.0, gt=0, description="longest that a parser may take for one source"
    )
    max_memory: int = Field(
        default=3072, ge=0, description="MiB that a parser process may take; 0: no limit (Linux)"
    )
    rescan_minutes: float = Field(
        default=60.0,
        ge=0,
        description="minutes between two full looks at watched folders; 0: only what changes",
    )
    exclude: tuple[str, ...] = Field(
        default=(".git/", "node_modules/", "__pycache__/", ".venv/", ".DS_Store"),
        description="patterns that are never read, in the form of .gitignore",
    )

    @field_validator("exclude", mode="before")
    @classmethod
    def _from_one_line(cls, given: object) -> object:
        """An environment variable holds the patterns in one line, with commas between them."""
        return _split(given)


class WebSettings(Section):
    max_bytes: int = Field(
        default=50_000_000, gt=0, description="largest answer of a web server, unpacked"
    )
    connect_timeout: float = Field(
        default=10.0, gt=0, description="seconds to wait for a connection"
    )
    read_timeout: float = Field(
        default=20.0, gt=0, description="seconds to wait for the next piece of an answer"
    )
    timeout: float = Field(
        default=60.0, gt=0, description="seconds that one answer may take, all in all"
    )
    max_redirects: int = Field(
        default=5, ge=0, le=20, description="most redirects that are followed"
    )
    allow_private: bool = Field(
        default=False, description="whether addresses of an intranet and of this machine are read"
    )
    any_port: bool = Field(
        default=False, description="whether other ports than 80, 443, 8080 and 8443 are asked"
    )
    use_proxy: bool = Field(
        default=False,
        description="whether the system's proxy is used; it then decides what may be reached",
    )
    user_agent: str = Field(
        default="",
        pattern=r"^[ -~]*$",
        description="how Wellread calls itself to web servers; empty: name and version",
    )
    robots: bool = Field(
        default=True, description="whether robots.txt is obeyed for pages (feeds are for programs)"
    )
    interval: float = Field(
        default=1.0, ge=0, description="least seconds between two requests to one host"
    )
    follow_entries: bool = Field(
        default=True, description="whether the page behind a feed's short entry is read"
    )
    max_entries: int = Field(
        default=50, ge=0, description="most pages that are read for one feed in one run"
    )
    poll_minutes: float = Field(
        default=30.0, gt=0, description="minutes between two looks at a watched feed or page"
    )


class RetrievalSettings(Section):
    top_k: int = Field(default=12, ge=1, le=200, description="passages that a question works with")
    candidates: int = Field(default=100, ge=1, le=1000, description="depth of each ranked list")
    fusion: Literal["weighted", "rrf", "text", "vector"] = Field(
        default="weighted", description="how the ranked lists are joined"
    )
    vector_weight: float = Field(
        default=0.5, ge=0, le=1, description="weight of vectors in 'weighted'"
    )
    closeness: float = Field(
        default=0.65, ge=0, le=1, description="share of how the words stand; 0: off; not in 'rrf'"
    )
    min_similarity: float = Field(
        default=0.3, ge=-1, le=1, description="least cosine of a story and a question"
    )
    diversity: float = Field(
        default=0.85, ge=0, le=1, description="1 ranks by relevance alone; less avoids repeats"
    )


class StorySettings(Section):
    enabled: bool = Field(default=True, description="whether runs build stories of news")
    kinds: tuple[Literal["article", "page", "paper", "transcript"], ...] = Field(
        default=("article",), min_length=1, description="kinds of documents that hold news"
    )
    join_threshold: float = Field(
        default=0.12,
        gt=0,
        le=1,
        description="least similarity (weighted words) at which news joins a story",
    )
    window_days: int = Field(
        default=730, ge=0, description="a story without news for longer is over; 0: it never is"
    )

    @field_validator("kinds", mode="before")
    @classmethod
    def _from_one_line(cls, given: object) -> object:
        """An environment variable holds the kinds in one line, with commas between them."""
        return _split(given)


class ServeSettings(Section):
    host: str = Field(default="127.0.0.1", description="address to listen on")
    port: int = Field(default=8756, ge=0, le=65535, description="port to listen on")
    max_request_bytes: int = Field(default=1_000_000, gt=0, description="largest request body")


class Settings(Section):
    """All settings, by section."""

    embedding: EmbeddingSettings = EmbeddingSettings()
    chunking: ChunkingSettings = ChunkingSettings()
    index: IndexSettings = IndexSettings()
    sources: SourceSettings = SourceSettings()
    web: WebSettings = WebSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    reader: ReaderSettings = ReaderSettings()
    stories: StorySettings = StorySettings()
    generation: GenerationSettings = GenerationSettings()
    citations: CitationSettings = CitationSettings()
    context: ContextSettings = ContextSettings()
    features: FeaturesSettings = FeaturesSettings()
    qa: QaSettings = QaSettings()
    budget: BudgetSettings = BudgetSettings()
    cache: CacheSettings = CacheSettings()
    serve: ServeSettings = ServeSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingRow:
    """One line of the table of settings."""

    name: str
    default: object
    variable: str
    help: str


def settings_table() -> list[SettingRow]:
    """Every setting with its default, its environment variable and what it does."""
    rows = []
    for section, section_field in Settings.model_fields.items():
        model = section_field.annotation
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            raise TypeError(f"{section} is not a section")
        rows += [
            SettingRow(
                name=f"{section}.{name}",
                default=field.default,
                variable=_variable(section, name),
                help=field.description or "",
            )
            for name, field in model.model_fields.items()
        ]
    return rows


def default_home(environ: Mapping[str, str] | None = None) -> Path:
    """``WELLREAD_HOME``, or ``.wellread`` in the user's home folder."""
    named = (os.environ if environ is None else environ).get("WELLREAD_HOME", "")
    return Path(named).expanduser() if named else Path.home() / ".wellread"


def load_settings(
    home: Path,
    overrides: Mapping[str, Mapping[str, Any]] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """Read the settings of ``home``.

    Raises:
        SettingsError: unknown name, value out of range, or a file that is not YAML.
    """
    values = _from_file(home / SETTINGS_FILE)
    for section, names in _from_environment(os.environ if environ is None else environ).items():
        values.setdefault(section, {}).update(names)
    for section, given in (overrides or {}).items():
        values.setdefault(section, {}).update(given)
    _refuse_gone(values, os.environ if environ is None else environ)
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise SettingsError(
            f"setting {name}: {first['msg']}",
            hint="docs/settings.md lists every setting",
        ) from error


def _refuse_gone(values: Mapping[str, object], environ: Mapping[str, str]) -> None:
    """Name what took the place of a section that there is no more: silence would turn it off."""
    for section, today in GONE.items():
        prefix = _variable(section, "")
        found = section in values or any(
            environ.get(name) for name in environ if name.startswith(prefix)
        )
        if found:
            raise SettingsError(
                f"the settings of {section} are part of reader now",
                hint=f"{today} (docs/settings.md)",
            )


def _variable(section: str, name: str) -> str:
    return f"WELLREAD_{section}_{name}".upper()


def _from_file(path: Path) -> dict[str, dict[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {error}") from error
    try:
        loaded = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date such as 2024-13-45
        raise SettingsError(f"{path} is not YAML: {error}") from error
    if loaded is None:
        return {}
    if not isinstance(loaded, dict) or not all(
        isinstance(section, dict) for section in loaded.values()
    ):
        raise SettingsError(f"{path}: expected sections with names and values")
    return {str(section): dict(names) for section, names in loaded.items()}


def _from_environment(environ: Mapping[str, str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for alias, (section, name) in ALIASES.items():
        if environ.get(alias):
            found.setdefault(section, {})[name] = environ[alias]
    for row in settings_table():
        if environ.get(row.variable):
            section, _, name = row.name.partition(".")
            found.setdefault(section, {})[name] = environ[row.variable]
    return found
