"""One table of settings: name, default, environment variable, help.

Values come from, in falling order of strength: arguments, ``WELLREAD_<SECTION>_<NAME>``
environment variables, the short ``QA_*`` aliases, ``wellread.yaml`` in the home, the defaults.
Settings are read once, frozen, and build nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import yaml
from pydantic import ValidationError

from wellread.ask_settings import (
    BudgetSettings,
    CacheSettings,
    CatalogueSettings,
    CitationSettings,
    ContextSettings,
    FeaturesSettings,
    GapSettings,
    GenerationSettings,
    Many,
    QaSettings,
    ReaderSettings,
    ResearchSettings,
    Section,
    ServeSettings,
    VerificationSettings,
    setting,
)
from wellread.config.index_settings import IndexSettings
from wellread.config.team_settings import OidcSettings, UsersSettings
from wellread.errors import SettingsError

SETTINGS_FILE = "wellread.yaml"
NewsKind = Literal["article", "page", "paper", "transcript"]
ALIASES: Mapping[str, tuple[str, str]] = {
    "QA_ENABLED": ("qa", "enabled"),
    "QA_MODEL": ("generation", "model"),
    "QA_MAX_OUTPUT_TOKENS": ("generation", "max_tokens"),
    "QA_MAX_CLUSTERS": ("qa", "max_clusters"),
    "QA_MAX_CONTEXT_CHARS": ("context", "max_characters"),
}


# Sections of earlier releases, and what says the same today.
GONE: Mapping[str, str] = {
    "rerank": "reader.relevance: trained; the others are reader.depth and reader.weight",
}


class EmbeddingSettings(Section):
    backend: str = setting(
        "local",
        "which embedder: local (the built-in model), static (its fast form), http, or the "
        "name of a plug-in",
        min_length=1,
    )
    model_path: str = setting(
        "",
        "model file to use instead of the installed package's: the same model or one of those in "
        "docs/models.md",
    )
    url: str = setting("", "base URL of an OpenAI-compatible server (…/v1)")
    model: str = setting("", "model name to ask the HTTP server for")
    api_key_env: str = setting("OPENAI_API_KEY", "environment variable that holds the server's key")
    timeout: ClassVar[float] = 60.0  # seconds to wait for one HTTP call
    threads: int = setting(0, "threads of the local model; 0 takes all cores", ge=0)


class ChunkingSettings(Section):
    tokens: int = setting(200, "size of a passage in word pieces", ge=20, le=2000)


class SourceSettings(Section):
    max_bytes: int = setting(200_000_000, "largest file that is read", gt=0)
    max_pages: int = setting(5_000, "most pages of one PDF", gt=0)
    max_unpacked: ClassVar[int] = 1 << 30  # most bytes that an Office file may unpack to
    max_cells: ClassVar[int] = 2_000_000  # most filled cells of one workbook
    max_seconds: float = setting(120.0, "longest that a parser may take for one source", gt=0)
    max_memory: int = setting(
        3072,
        "MiB that all parsers together may take, and a file by its kind and size a part of that; "
        "0: no limit (Linux)",
        ge=0,
    )
    rescan_minutes: ClassVar[float] = 60.0  # minutes between two full looks at watched folders; 0: only what changes
    exclude: Annotated[tuple[str, ...], Many] = setting(
        (".git/", "node_modules/", "__pycache__/", ".venv/", ".DS_Store"),
        "patterns that are never read, in the form of .gitignore",
    )
    follow_links: bool = setting(
        False, "whether links in a folder are followed to files that lie outside of it"
    )


class WebSettings(Section):
    max_bytes: ClassVar[int] = 50_000_000  # largest answer of a web server, unpacked
    connect_timeout: ClassVar[float] = 10.0  # seconds to wait for a connection
    read_timeout: ClassVar[float] = 20.0  # seconds to wait for the next piece of an answer
    timeout: ClassVar[float] = 60.0  # seconds that one answer may take, all in all
    max_redirects: ClassVar[int] = 5  # most redirects that are followed
    allow_private: bool = setting(
        False, "whether addresses of an intranet and of this machine are read"
    )
    any_port: bool = setting(False, "whether other ports than 80, 443, 8080 and 8443 are asked")
    use_proxy: bool = setting(
        False, "whether the system's proxy is used; it then decides what may be reached"
    )
    robots: bool = setting(True, "whether robots.txt is obeyed for pages (feeds are for programs)")
    interval: float = setting(1.0, "least seconds between two requests to one host", ge=0)
    max_entries: ClassVar[int] = 50  # most pages that are read for one feed in one run
    poll_minutes: float = setting(30.0, "minutes between two looks at a watched feed or page", gt=0)


class RetrievalSettings(Section):
    top_k: int = setting(12, "passages that a question works with", ge=1, le=200)
    candidates: ClassVar[int] = 100  # depth of each ranked list
    fusion: Literal["weighted", "rrf", "text", "vector"] = setting(
        "weighted", "how the ranked lists are joined"
    )
    vector_weight: ClassVar[float] = 0.5  # weight of vectors in 'weighted'
    closeness: ClassVar[float] = 0.65  # share of how the words stand; 0: off; not in 'rrf'
    min_similarity: float = setting(0.3, "least cosine of a story and a question", ge=-1, le=1)
    diversity: float = setting(0.85, "1 ranks by relevance alone; less avoids repeats", ge=0, le=1)


class StorySettings(Section):
    enabled: bool = setting(True, "whether runs build stories of news")
    kinds: Annotated[tuple[NewsKind, ...], Many] = setting(
        ("article",), "kinds of documents that hold news", min_length=1
    )
    join_threshold: ClassVar[float] = 0.12  # least similarity (weighted words) at which news joins a story
    window_days: ClassVar[int] = 730  # a story without news for longer is over; 0: it never is


class BackupSettings(Section):
    keep: int = setting(
        3, "backups of the catalogue that are kept in the home (docs/backups.md); 0: none", ge=0
    )
    hours: ClassVar[float] = 24.0  # a run makes a new backup where the newest is older than this many hours


class CoverageSettings(Section):
    target: int = setting(
        1,
        "documents that a cell of the coverage is to have, where the collection's settings file "
        "gives no other target",
        ge=0,
    )


class Settings(Section):
    """All settings, by section."""

    embedding: EmbeddingSettings = EmbeddingSettings()
    chunking: ChunkingSettings = ChunkingSettings()
    catalogue: CatalogueSettings = CatalogueSettings()
    index: IndexSettings = IndexSettings()
    sources: SourceSettings = SourceSettings()
    web: WebSettings = WebSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    reader: ReaderSettings = ReaderSettings()
    stories: StorySettings = StorySettings()
    generation: GenerationSettings = GenerationSettings()
    verification: VerificationSettings = VerificationSettings()
    citations: CitationSettings = CitationSettings()
    context: ContextSettings = ContextSettings()
    features: FeaturesSettings = FeaturesSettings()
    qa: QaSettings = QaSettings()
    budget: BudgetSettings = BudgetSettings()
    cache: CacheSettings = CacheSettings()
    research: ResearchSettings = ResearchSettings()
    gaps: GapSettings = GapSettings()
    coverage: CoverageSettings = CoverageSettings()
    backups: BackupSettings = BackupSettings()
    serve: ServeSettings = ServeSettings()
    users: UsersSettings = UsersSettings()
    oidc: OidcSettings = OidcSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingRow:
    """One line of the table of settings."""

    name: str
    default: object
    variable: str
    help: str


def settings_table() -> list[SettingRow]:
    """Every setting with its default, its environment variable and what it does."""
    return [
        SettingRow(
            name=f"{section}.{name}",
            default=field.default,
            variable=_variable(section, name),
            help=field.description or "",
        )
        for section, defaults in Settings()
        for name, field in type(defaults).model_fields.items()
    ]


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
    environ = os.environ if environ is None else environ
    values = _from_file(home / SETTINGS_FILE)
    for given in (_from_environment(environ), overrides or {}):
        for section, names in given.items():
            values.setdefault(section, {}).update(names)
    _refuse_gone(values, environ)
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise SettingsError(
            f"setting {name}: {first['msg']}",
            hint="docs/settings.md lists every setting",
        ) from error


def settings_origins(home: Path, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Where each setting's value comes from: ``default``, the settings file, or a variable's name.

    Raises:
        SettingsError: the file is not YAML.
    """
    environ = os.environ if environ is None else environ
    in_file = _from_file(home / SETTINGS_FILE)
    aliases = {f"{section}.{name}": alias for alias, (section, name) in ALIASES.items()}
    origins = {}
    for row in settings_table():
        section, _, name = row.name.partition(".")
        # In falling order of strength, as ``load_settings`` has it.
        named = (row.variable, aliases.get(row.name, ""))
        variable = next((one for one in named if one and environ.get(one)), "")
        kept = SETTINGS_FILE if name in in_file.get(section, {}) else "default"
        origins[row.name] = variable or kept
    return origins


def write_setting(home: Path, name: str, value: str) -> None:
    """Put one value into the settings file of ``home``; what else stands there stays.

    Raises:
        SettingsError: there is no such setting, the value does not fit, or the file cannot be
            edited line by line.
    """
    section, _, key = name.partition(".")
    try:
        given = yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise SettingsError(f"{value!r} cannot be read as a value: {error}") from error
    load_settings(home, {section: {key: given}}, {})
    path = home / SETTINGS_FILE
    wanted = _from_file(path)
    wanted.setdefault(section, {})[key] = given
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    line = f"  {key}: {yaml.safe_dump(given, default_flow_style=True).partition(chr(10))[0]}\n"
    head = rf"^{re.escape(section)}:[ \t]*(?:#.*)?\n"
    place = re.search(
        rf"{head}(?:(?:[ \t]+.*)?\n)*?(?P<line>[ \t]+{re.escape(key)}:.*\n?)", text, re.M
    )
    begin = re.search(head, text, re.M)
    if place:
        text = text[: place.start("line")] + line + text[place.end("line") :]
    elif begin:
        text = text[: begin.end()] + line + text[begin.end() :]
    else:
        text += ("" if not text or text.endswith("\n") else "\n") + f"{section}:\n{line}"
    home.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".new")
    beside.write_text(text, encoding="utf-8")
    if _from_file(beside) != wanted:
        beside.unlink()
        raise SettingsError(f"{path} cannot be edited line by line", hint="change it by hand")
    beside.replace(path)


def _refuse_gone(values: Mapping[str, object], environ: Mapping[str, str]) -> None:
    """Name what took the place of a section that there is no more: silence would turn it off."""
    for section, today in GONE.items():
        prefix = _variable(section, "")
        if section in values or any(
            value for name, value in environ.items() if name.startswith(prefix)
        ):
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
    own = [(row.variable, tuple(row.name.split("."))) for row in settings_table()]
    for variable, (section, name) in [*ALIASES.items(), *own]:
        if environ.get(variable):
            found.setdefault(section, {})[name] = environ[variable]
    return found
