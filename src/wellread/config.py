"""Defines all settings: name, default, environment variable, help (read by ``settings_file.py``).

A ``ClassVar`` of a section is not a setting, but a constant shared by its users.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
)

logger = logging.getLogger(__name__)

PREFIX = "WELLREAD_"  # of the environment variables
HOME_VARIABLE = f"{PREFIX}HOME"
Style = Literal["number", "auto", "title", "page", "time", "entity"]
Role = Literal["model", "fallback_model", "cheap_model", "judge_model"]  # uses of a language model


def setting(default: Any, help: str, **limits: Any) -> Any:
    """Declare a setting with its default, its help and its limits in pydantic's terms."""
    return Field(default=default, description=help, **limits)


def _split(value: object) -> object:
    """Split an environment variable with several comma-separated values."""
    if not isinstance(value, str):
        return value
    return tuple(part for part in (item.strip() for item in value.split(",")) if part)


Many = BeforeValidator(_split)


class Section(BaseModel):
    """Base class of the sections of the settings: frozen, and without unknown names."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


# To the last @: passwords may be unquoted.
_USER = re.compile(r"(?<=://)([^/?#@:]*):.*(?=@)", re.DOTALL)
_IN_QUERY = re.compile(r"(?i)([?&][^=&#]*passw[^=&#]*=)[^&#]*")


def without_password(url: str) -> str:
    """Replace the password in a URL by ``***``, so that it can be shown."""
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
    fallback_model: str = setting("", "language model to use when the first one fails")
    cheap_model: str = setting("", "language model to use when the budget runs low")
    base_url: str = setting(
        "", "server to use instead of the usual one of the first provider named"
    )
    api_key_env: str = setting(
        "",
        "environment variable with the key of the first provider named; empty: the provider's "
        "usual variable",
    )
    command: str = setting("claude", "command-line program behind claude-cli")
    temperature: float = setting(0.3, "sampling temperature", ge=0, le=2)
    max_tokens: int = setting(2000, "most tokens of one answer", ge=1)
    timeout: float = setting(120.0, "seconds until a model call is aborted", gt=0)
    retries: int = setting(2, "retries after a temporary failure", ge=0, le=10)
    input_price: float | None = setting(
        None, "US dollars for a million tokens that the model reads; empty: the price list's", ge=0
    )
    output_price: float | None = setting(
        None, "US dollars for a million tokens that the model writes; empty: the price list's", ge=0
    )

    @property
    def by_role(self) -> dict[Role, str]:
        """The name of the model for each role; empty when not set."""
        names = self.model, self.fallback_model, self.cheap_model
        return {role: name.strip() for role, name in zip(get_args(Role), names, strict=False)}


class VerificationSettings(Section):
    by: Literal["model", "off"] = setting(
        "model",
        "model: a second model call checks all sentences of an answer against the evidence; off: "
        "they are marked as not checked, beside the nearest sentence of their sources",
    )
    model: str = setting("", "language model that checks; empty: the one that wrote the answer")


class CitationSettings(Section):
    style: Style = setting("number", "how a citation is rendered; auto: by the kind of source")
    strict: bool = setting(False, "drop unsupported sentences instead of marking them")
    required: bool = setting(
        False,
        "whether a sentence without a citation is omitted instead of marked as uncited; results of "
        "the catalogue are proved by their table and stay",
    )
    include_links: bool = setting(
        True,
        "whether citations and bibliographies on the command line and in exports are links; the "
        "JSON always has the addresses",
    )


class ReaderSettings(Section):
    relevance: str = setting(
        "lexical",
        "which reader ranks the best passages: lexical (the search's own order), trained (the "
        "small network that comes with Wellread), or the name of a plug-in",
        min_length=1,
    )
    answers: str = setting(
        "trained",
        "which reader finds answers without a language model: trained (the small network that "
        "comes with Wellread), lexical (words and cosines: faster), or the name of a plug-in",
        min_length=1,
    )
    depth: ClassVar[int] = 30  # best passages of a search that are reordered
    weight: ClassVar[float] = 0.7  # weight of the reader in the combined order; 1: its order alone
    threads: int = setting(0, "threads of the network; 0 uses all cores", ge=0)


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
    follow_up: bool = setting(True, "whether earlier questions of a session give the context")
    graph_aware: bool = setting(
        True,
        "whether questions are answered from the graph of entities, and related entities are "
        "suggested; otherwise only texts and counts are used",
    )
    admit_uncertainty: bool = setting(
        True,
        "whether an uncertain answer opens with “Based on limited information”; its confidence "
        "and what is missing are always shown",
    )
    suggest_related: bool = setting(
        True, "whether related material and questions that the material answers are suggested"
    )
    similar_questions: bool = setting(
        True, "whether a model is shown past questions that experts rated"
    )
    similar_threshold: float = setting(
        0.8, "minimum cosine of a past question that is shown", ge=-1, le=1
    )
    corrections: bool = setting(
        True, "whether an expert's correction becomes the answer to the same question"
    )
    verified_rating: ClassVar[int] = 80  # least expert rating for an answer to be reused


class QaSettings(Section):
    enabled: bool = setting(True, "whether questions are answered at all")
    confidence_threshold: float = setting(
        0.3, "confidence below which the no-data reply replaces the answer", ge=0, le=1
    )
    max_clusters: int = setting(
        5, "most stories in a news answer, unless the question says otherwise", ge=1
    )
    max_sentences: ClassVar[int] = 3  # most sentences marked in an answer without a model


class BudgetSettings(Section):
    daily: float | None = setting(None, "US dollars a day (UTC)", ge=0)
    monthly: float | None = setting(None, "US dollars a month (UTC)", ge=0)
    cheaper_below: ClassVar[float] = 0.2  # remaining share of a budget at which it counts as low


class CacheSettings(Section):
    answers: bool = setting(True, "whether the same question on the same material is cached")


class ResearchSettings(Section):
    rounds: int = setting(4, "most rounds of searching", ge=1, le=10)
    seconds: float = setting(60.0, "time limit of a run in seconds", gt=0)
    searches: int = setting(60, "most searches of one run", ge=1, le=1000)
    dollars: float | None = setting(
        None, "US dollars that a run may spend on language models; empty: the budget", ge=0
    )
    sentences: ClassVar[int] = 40  # most marked sentences of a report
    side_by_side: ClassVar[int] = 4  # concurrent searches
    auto_seconds: ClassVar[float] = 20.0  # estimate up to which a plan runs without confirmation
    auto_dollars: ClassVar[float] = 0.1  # estimate up to which a plan runs without confirmation


class GapSettings(Section):
    ask_again: bool = setting(True, "whether open questions are asked again when material arrives")
    most: ClassVar[int] = 50  # most questions asked again after one run


class ServeSettings(Section):
    host: str = setting("127.0.0.1", "address to listen on")
    port: int = setting(8756, "port to listen on", ge=0, le=65535)
    max_request_bytes: ClassVar[int] = 1_000_000  # largest request body
    max_upload_bytes: int = setting(
        300_000_000, "largest body of an upload, all its files together", gt=0
    )
    max_upload_files: ClassVar[int] = 500  # most files of one upload
    query_seconds: ClassVar[float] = 150.0  # time limit of POST /api/query
    research_seconds: ClassVar[float] = 300.0  # time limit of POST /api/query/deep
    body_seconds: ClassVar[float] = 30.0  # until a body begins; then 64,000 bytes a second
    header_seconds: ClassVar[float] = 10.0  # until request line and headers are complete
    asks_at_once: int = setting(8, "questions answered at the same time; 32 more wait", gt=0)
    names: Annotated[tuple[str, ...], Many] = setting(
        (), "host names of the server, in addition to those of this machine (docs/users.md)"
    )
    proxies: Annotated[tuple[str, ...], Many] = setting(
        (), "addresses of reverse proxies whose X-Forwarded-For and -Proto are trusted"
    )


PASSWORD_ENV = "OPENSEARCH_PASSWORD"  # noqa: S105 - the variable with the password of a cluster's user
LANCEDB = "lancedb"  # the back end that is built in


def _without_password(url: str) -> str:
    if ":" in url.partition("://")[2].rpartition("@")[0]:
        raise ValueError("it contains a password; put that into the variable OPENSEARCH_PASSWORD")
    return url


class IndexSettings(Section):
    backend: str = setting(
        "",
        "search index: lancedb (in the home's folder) or one that an installed package adds; "
        "empty: that of index.url, or lancedb without a URL",
    )
    url: Annotated[str, AfterValidator(_without_password)] = setting(
        "",
        "cluster that holds the index, such as opensearch+https://user@host:9200 "
        "(docs/opensearch.md); empty: the home's folder",
    )

    @property
    def engine(self) -> str:
        """The name of the configured back end."""
        return self.backend or self.service or LANCEDB

    @property
    def service(self) -> str:
        """The back end named by the URL's scheme; empty without a URL."""
        return self.url.partition(":")[0].partition("+")[0]


class UsersSettings(Section):
    session_days: float = setting(14.0, "days until a browser has to sign in again", gt=0)
    audit_days: int = setting(365, "days that the audit log is kept; 0: forever", ge=0)
    requests_per_minute: int = setting(600, "requests a minute per user or key; 0: any", ge=0)
    asks_per_minute: int = setting(30, "questions a minute per user or key; 0: any", ge=0)
    tries_per_minute: ClassVar[int] = (
        5  # failed sign-ins by one name, four times as many by one address
    )
    limits_storage: str = setting(
        "memory://", "where rates are counted: in each process, or redis://… for all of them"
    )


class OidcSettings(Section):
    issuer: str = setting("", "address of an identity provider (OpenID Connect); empty: none")
    client_id: str = setting("", "the name by which the provider knows this server")
    scopes: ClassVar[str] = "openid profile email"  # requested from the provider
    groups_claim: str = setting("groups", "the claim with the user's groups; empty: none")
    role: Literal["", "reader", "editor"] = setting(
        "reader", "role of a user who signs in for the first time; empty: they are refused"
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
        "embedder: local (the built-in model), static (its fast form), http, or the "
        "name of a plug-in",
        min_length=1,
    )
    model_path: str = setting(
        "",
        "model file to use instead of the installed package's: the same model or one of those in "
        "docs/models.md",
    )
    url: str = setting("", "base URL of an OpenAI-compatible server (…/v1)")
    model: str = setting("", "name of the model on the HTTP server")
    api_key_env: str = setting("OPENAI_API_KEY", "environment variable that holds the server's key")
    timeout: ClassVar[float] = 60.0  # seconds to wait for one HTTP call
    threads: int = setting(0, "threads of the local model; 0 uses all cores", ge=0)


class ChunkingSettings(Section):
    tokens: int = setting(200, "size of a passage in word pieces", ge=20, le=2000)


class SourceSettings(Section):
    max_bytes: int = setting(200_000_000, "largest file that is read", gt=0)
    max_pages: int = setting(5_000, "most pages of one PDF", gt=0)
    max_unpacked: ClassVar[int] = 1 << 30  # most bytes that an Office file may unpack to
    max_cells: ClassVar[int] = 2_000_000  # most filled cells of one workbook
    max_seconds: float = setting(120.0, "most seconds that a parser may take for one source", gt=0)
    max_memory: int = setting(
        3072,
        "MiB that all parsers together may use; each file gets a part by its kind and size; "
        "0: no limit (Linux)",
        ge=0,
    )
    ocr: bool = setting(
        False, "whether scanned pages of PDF files are read by text recognition (extra ocr)"
    )
    rescan_minutes: ClassVar[float] = 60.0  # between two full looks at watched folders
    exclude: Annotated[tuple[str, ...], Many] = setting(
        (
            *(".git/", "node_modules/", "__pycache__/", ".venv/", ".DS_Store", "Thumbs.db"),
            *("desktop.ini", "~$*", ".~lock.*#", "*.tmp", "*.part", "*.crdownload"),
            *(".obsidian/", ".trash/", "*.info.json"),
        ),
        "patterns of files that are never read, in .gitignore syntax",
    )
    follow_links: bool = setting(
        False, "whether symbolic links in a folder are followed to files outside it"
    )


class WebSettings(Section):
    max_bytes: ClassVar[int] = 50_000_000  # largest answer of a web server, unpacked
    connect_timeout: ClassVar[float] = 10.0  # seconds to wait for a connection
    read_timeout: ClassVar[float] = 20.0  # seconds to wait for the next piece of an answer
    timeout: ClassVar[float] = 60.0  # seconds that one answer may take, all in all
    max_redirects: ClassVar[int] = 5  # most redirects that are followed
    allow_private: bool = setting(
        False, "whether addresses of the intranet and of this machine are allowed"
    )
    any_port: bool = setting(False, "whether ports other than 80, 443, 8080 and 8443 are allowed")
    use_proxy: bool = setting(
        False, "whether the system's proxy is used; it then decides which hosts are reachable"
    )
    robots: bool = setting(True, "whether robots.txt is obeyed for pages (feeds are for programs)")
    interval: float = setting(1.0, "minimum seconds between two requests to one host", ge=0)
    max_entries: ClassVar[int] = 50  # most pages that are read for one feed in one run
    poll_minutes: float = setting(30.0, "minutes between checks of a watched feed or page", gt=0)


class RetrievalSettings(Section):
    top_k: int = setting(12, "passages used for a question", ge=1, le=200)
    candidates: ClassVar[int] = 100  # depth of each ranked list
    fusion: Literal["weighted", "rrf", "text", "vector"] = setting(
        "weighted", "how the ranked lists are combined"
    )
    vector_weight: ClassVar[float] = 0.5  # weight of vectors in 'weighted'
    closeness: ClassVar[float] = 0.65  # weight of word proximity; 0: off; not in 'rrf'
    min_similarity: float = setting(0.3, "minimum cosine of a story and a question", ge=-1, le=1)
    diversity: float = setting(0.85, "1 ranks by relevance alone; less avoids repeats", ge=0, le=1)


class TranscriptionSettings(Section):
    base_url: str = setting(
        "", "server with /audio/transcriptions that writes down recordings (http://…/v1)"
    )
    model: str = setting(
        "whisper-1",
        "name of the model on that server, or a folder with a model for faster-whisper, which then "
        "runs here (extra speech)",
    )
    api_key_env: str = setting("", "environment variable that holds the server's key")
    price: float | None = setting(None, "US dollars a minute, told before a run starts", ge=0)
    timeout: ClassVar[float] = 3600.0  # seconds to wait for a server's next byte


class StorySettings(Section):
    enabled: bool = setting(True, "whether ingest runs build news stories")
    kinds: Annotated[tuple[NewsKind, ...], Many] = setting(
        ("article",), "kinds of documents that contain news", min_length=1
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
        "documents that a cell of the coverage should have, unless the collection's settings file "
        "sets another target",
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
    transcription: TranscriptionSettings = TranscriptionSettings()
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


class SettingRow(NamedTuple):
    """A row of the table of settings."""

    name: str
    default: object
    variable: str
    help: str


def settings_table() -> list[SettingRow]:
    """Return every setting with its default, environment variable and help."""
    return [
        SettingRow(
            name=f"{section}.{name}",
            default=field.default,
            variable=f"{PREFIX}{section}_{name}".upper(),
            help=field.description or "",
        )
        for section, defaults in Settings()
        for name, field in type(defaults).model_fields.items()
    ]


def default_home() -> Path:
    """Return ``WELLREAD_HOME``, or ``.wellread`` in the user's home folder."""
    folder = os.environ.get(HOME_VARIABLE, "")
    return Path(folder).expanduser() if folder else Path.home() / ".wellread"
