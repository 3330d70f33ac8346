"""One table of settings: name, default, environment variable and help.

Values come from, in falling order of strength: arguments, ``WELLREAD_<SECTION>_<NAME>``, the short
``QA_*`` aliases, ``wellread.yaml`` in the home, the defaults. They are read once, and frozen. A
``ClassVar`` of a section is no setting: a constant that its users share.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
)

from wellread.errors import SettingsError

Style = Literal["number", "auto", "title", "page", "time", "entity"]
Role = Literal["model", "fallback_model", "cheap_model", "judge_model"]  # who writes, or judges


def setting(default: Any, help: str, **limits: Any) -> Any:
    """A setting: default, what it does in words, and its limits as pydantic names them."""
    return Field(default=default, description=help, **limits)


def _split(given: object) -> object:
    """An environment variable holds several values in one line, with commas between them."""
    if not isinstance(given, str):
        return given
    return tuple(part for part in (each.strip() for each in given.split(",")) if part)


Many = BeforeValidator(_split)


class Section(BaseModel):
    """One section of the settings: frozen, and nothing unknown in it."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


_USER = re.compile(r"(?<=://)([^/?#@:]*):.*(?=@)", re.DOTALL)  # to the last @: some quote nothing
_IN_QUERY = re.compile(r"(?i)([?&][^=&#]*passw[^=&#]*=)[^&#]*")


def without_password(url: str) -> str:
    """A URL as it may be shown: ``***`` stands for its password."""
    return _IN_QUERY.sub(r"\1***", _USER.sub(r"\1:***", url))


class CatalogueSettings(Section):
    url: Annotated[str, PlainSerializer(without_password)] = setting(
        "",
        "postgresql+psycopg://USER:PASSWORD@HOST/DATABASE keeps the catalogue on a server "
        "(docs/team.md); empty: a file in the home",
        repr=False,
    )


class GenerationSettings(Section):
    model: str = setting(
        "",
        "language model, for example openai:gpt-4o-mini, anthropic:claude-sonnet-4-5, "
        "google:gemini-2.5-flash or claude-cli; empty: extractive answers",
    )
    fallback_model: str = setting("", "language model that is asked when the first one fails")
    cheap_model: str = setting("", "language model that is asked when the budget runs low")
    base_url: str = setting(
        "", "server to ask instead of the usual one of the first provider that is named"
    )
    api_key_env: str = setting(
        "",
        "environment variable with the key of the first provider that is named; empty: the "
        "provider's usual",
    )
    command: str = setting("claude", "command line program behind claude-cli")
    temperature: float = setting(0.3, "sampling temperature", ge=0, le=2)
    max_tokens: int = setting(2000, "most tokens of one answer", ge=1)
    timeout: float = setting(120.0, "seconds until a model call is given up", gt=0)
    retries: int = setting(2, "further tries after a retryable failure", ge=0, le=10)
    input_price: float | None = setting(
        None, "US dollars for a million tokens that the model reads; empty: the price list's", ge=0
    )
    output_price: float | None = setting(
        None, "US dollars for a million tokens that the model writes; empty: the price list's", ge=0
    )

    @property
    def by_role(self) -> dict[Role, str]:
        """The model that is named for each role; empty where none is."""
        return {
            "model": self.model.strip(),
            "fallback_model": self.fallback_model.strip(),
            "cheap_model": self.cheap_model.strip(),
        }


class VerificationSettings(Section):
    by: Literal["model", "off"] = setting(
        "model",
        "model: one further call judges all sentences of an answer by the evidence; off: they are "
        "shown as not checked, beside the nearest sentence of their sources",
    )
    model: str = setting("", "language model that judges; empty: the one that wrote the answer")


class CitationSettings(Section):
    style: Style = setting("number", "how a citation is rendered; auto: by the kind of source")
    strict: bool = setting(False, "drop unsupported sentences instead of marking them")
    required: bool = setting(
        False,
        "whether a sentence of texts without a citation is left out instead of marked as uncited; "
        "what the catalogue counts has its table for a proof and stays",
    )
    include_links: bool = setting(
        True,
        "whether citations and bibliographies on the command line and in exports are links; the "
        "JSON has the addresses in any case",
    )


class ReaderSettings(Section):
    relevance: str = setting(
        "lexical",
        "who puts the best passages in order: lexical (the search's own order), trained (the small "
        "network that comes with Wellread), or the name of a plug-in",
        min_length=1,
    )
    answers: str = setting(
        "trained",
        "who reads the passages of an answer without a language model: trained (the small network "
        "that comes with Wellread), lexical (words and cosines: faster), or the name of a plug-in",
        min_length=1,
    )
    depth: ClassVar[int] = 30  # best passages of a search that are put in order
    weight: ClassVar[float] = 0.7  # share of the reader in the joined order; 1: its order alone
    threads: int = setting(0, "threads of the network; 0 takes all cores", ge=0)


class ContextSettings(Section):
    max_tokens: int = setting(8000, "most tokens of evidence", ge=100)
    max_characters: int = setting(30_000, "most characters of evidence", ge=500)
    include_relationships: bool = setting(
        True, "whether a model is shown what an entity of the evidence is related to"
    )
    include_metadata: bool = setting(
        True, "whether a model is shown an entity's type and a source's values of the taxonomy"
    )


class FeaturesSettings(Section):
    follow_up: bool = setting(True, "whether a question of a session is read with those before it")
    graph_aware: bool = setting(
        True,
        "whether questions are answered by walks through the graph of entities, and related "
        "entities are named; without, from texts and counts alone",
    )
    admit_uncertainty: bool = setting(
        True,
        "whether an answer that is not sure opens with “Based on limited information”; its "
        "confidence and what is missing are told in any case",
    )
    suggest_related: bool = setting(
        True, "whether related material and questions of the material are named"
    )
    similar_questions: bool = setting(
        True, "whether a model is shown past questions that experts rated"
    )
    similar_threshold: float = setting(
        0.8, "least cosine of a past question that is shown", ge=-1, le=1
    )
    corrections: bool = setting(
        True, "whether what an expert put right is the answer to the same question from then on"
    )
    verified_rating: ClassVar[int] = (
        80  # from which an expert's rating lets an answer be given again
    )


class QaSettings(Section):
    enabled: bool = setting(True, "whether questions are answered at all")
    confidence_threshold: float = setting(
        0.3, "below this there is no answer but the no-data reply", ge=0, le=1
    )
    max_clusters: int = setting(
        5, "most stories that news is told from, unless a question says", ge=1
    )
    max_sentences: ClassVar[int] = 3  # most sentences that are marked in an answer without a model


class BudgetSettings(Section):
    daily: float | None = setting(None, "US dollars a day (UTC)", ge=0)
    monthly: float | None = setting(None, "US dollars a month (UTC)", ge=0)
    cheaper_below: ClassVar[float] = 0.2  # share left of a budget below which cheap_model is asked


class CacheSettings(Section):
    answers: bool = setting(True, "whether the same question on the same material is written once")


class ResearchSettings(Section):
    rounds: int = setting(4, "most rounds of searching", ge=1, le=10)
    seconds: float = setting(60.0, "longest that a run may work, in seconds", gt=0)
    searches: int = setting(60, "most searches of one run", ge=1, le=1000)
    dollars: float | None = setting(
        None, "US dollars that the language model of one run may cost; empty: the budget's", ge=0
    )
    sentences: ClassVar[int] = 40  # most marked sentences of a report
    side_by_side: ClassVar[int] = 4  # searches that are made at a time
    auto_seconds: ClassVar[float] = 20.0  # estimate up to which a plan is followed unseen
    auto_dollars: ClassVar[float] = 0.1  # estimate up to which a plan is followed unseen


class GapSettings(Section):
    ask_again: bool = setting(
        True, "whether questions that stayed open are asked again when material arrives"
    )
    most: ClassVar[int] = 50  # most questions that are asked again at a time


class ServeSettings(Section):
    host: str = setting("127.0.0.1", "address to listen on")
    port: int = setting(8756, "port to listen on", ge=0, le=65535)
    max_request_bytes: ClassVar[int] = 1_000_000  # largest request body
    max_upload_bytes: int = setting(
        300_000_000, "largest body of an upload, all its files together", gt=0
    )
    max_upload_files: ClassVar[int] = 500  # most files of one upload
    query_seconds: ClassVar[float] = 150.0  # that POST /api/query may take
    research_seconds: ClassVar[float] = 300.0  # that POST /api/query/deep may take
    body_seconds: ClassVar[float] = 30.0  # in which a body begins; then 64,000 bytes a second
    header_seconds: ClassVar[float] = 10.0  # in which line and headers of a request come
    asks_at_once: int = setting(8, "questions that are answered at once; 32 more wait", gt=0)
    names: Annotated[tuple[str, ...], Many] = setting(
        (), "host names that the server answers for, beside those of this machine (docs/users.md)"
    )
    proxies: Annotated[tuple[str, ...], Many] = setting(
        (), "addresses of reverse proxies whose X-Forwarded-For and -Proto are believed"
    )


PASSWORD_ENV = "OPENSEARCH_PASSWORD"  # noqa: S105 - the variable with the password of a cluster's user
LANCEDB = "lancedb"  # the back end that is built in


def _without_password(url: str) -> str:
    if ":" in url.partition("://")[2].rpartition("@")[0]:
        raise ValueError("a password stands in it; put it into the variable OPENSEARCH_PASSWORD")
    return url


class IndexSettings(Section):
    backend: str = setting(
        "",
        "which search index: lancedb (in the home's folder) or one that an installed package adds; "
        "empty: that of url, and without url lancedb",
    )
    url: Annotated[str, AfterValidator(_without_password)] = setting(
        "",
        "a cluster that holds the index, as opensearch+https://user@host:9200 "
        "(docs/opensearch.md); empty: the home's folder",
    )

    @property
    def engine(self) -> str:
        """The back end that is asked for."""
        return self.backend or self.service or LANCEDB

    @property
    def service(self) -> str:
        """The back end of the address; empty without one."""
        return self.url.partition(":")[0].partition("+")[0]


class UsersSettings(Section):
    session_days: float = setting(14.0, "days until a browser has to sign in again", gt=0)
    audit_days: int = setting(365, "days that the audit log is kept; 0: for ever", ge=0)
    requests_per_minute: int = setting(600, "requests of one user or key a minute; 0: any", ge=0)
    asks_per_minute: int = setting(30, "questions of one user or key a minute; 0: any", ge=0)
    tries_per_minute: ClassVar[int] = (
        5  # failed sign-ins by one name, four times as many by one address
    )
    limits_storage: str = setting(
        "memory://", "where rates are counted: in each process, or redis://… for all of them"
    )


class OidcSettings(Section):
    issuer: str = setting("", "address of an identity provider (OpenID Connect); empty: none")
    client_id: str = setting("", "the name by which the provider knows this server")
    scopes: ClassVar[str] = "openid profile email"  # what the provider is asked for
    groups_claim: str = setting("groups", "the claim with the user's groups; empty: none")
    role: Literal["", "reader", "editor"] = setting(
        "reader", "role of somebody who comes for the first time; empty: they are not let in"
    )


SETTINGS_FILE = "wellread.yaml"
NewsKind = Literal["article", "page", "paper", "transcript"]
ALIASES: Mapping[str, tuple[str, str]] = {
    "QA_ENABLED": ("qa", "enabled"),
    "QA_MODEL": ("generation", "model"),
    "QA_MAX_OUTPUT_TOKENS": ("generation", "max_tokens"),
    "QA_MAX_CLUSTERS": ("qa", "max_clusters"),
    "QA_MAX_CONTEXT_CHARS": ("context", "max_characters"),
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
    rescan_minutes: ClassVar[float] = 60.0  # between two full looks at watched folders
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
    join_threshold: ClassVar[float] = 0.12  # least similarity (words) at which news joins a story
    window_days: ClassVar[int] = 730  # a story without news for longer is over; 0: it never is


class BackupSettings(Section):
    keep: int = setting(
        3, "backups of the catalogue that are kept in the home (docs/backups.md); 0: none", ge=0
    )
    hours: ClassVar[float] = 24.0  # after which a run makes a new backup


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
    """Read the settings of ``home``."""
    environ = os.environ if environ is None else environ
    values = _from_file(home / SETTINGS_FILE)
    for given in (_from_environment(environ), overrides or {}):
        for section, names in given.items():
            values.setdefault(section, {}).update(names)
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise SettingsError(
            f"setting {name}: {first['msg']}",
            hint="docs/settings.md lists every setting",
        ) from error


def write_setting(home: Path, name: str, value: str) -> None:
    """Put one value into the settings file of ``home``; what else stands there stays."""
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
    if not isinstance(loaded, dict) or not all(isinstance(one, dict) for one in loaded.values()):
        raise SettingsError(f"{path}: expected sections with names and values")
    return {str(section): dict(names) for section, names in loaded.items()}


def _from_environment(environ: Mapping[str, str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    own = [(row.variable, tuple(row.name.split("."))) for row in settings_table()]
    for variable, (section, name) in [*ALIASES.items(), *own]:
        if environ.get(variable):
            found.setdefault(section, {})[name] = environ[variable]
    return found
