"""The settings of asking: who writes, how it is checked, what it may cost, how it is served.

``config`` reads them with all the others.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

Style = Literal["number", "auto", "title", "page", "time", "entity"]
Role = Literal["model", "fallback_model", "cheap_model", "judge_model"]
"""Who writes, by the name of the setting of ``generation``; ``verification.model`` judges."""


def setting(default: Any, help: str, **limits: Any) -> Any:
    """A setting with its default, what it does in words, and its limits as pydantic names them."""
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
    """Where the catalogue is. What is written of the settings does not have the password."""

    url: Annotated[str, PlainSerializer(without_password)] = setting(
        "",
        "postgresql+psycopg://USER:PASSWORD@HOST/DATABASE keeps the catalogue on a server "
        "(docs/team.md); empty: a file in the home",
        repr=False,
    )


class GenerationSettings(Section):
    """Who writes answers."""

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
    """Who judges what a language model wrote."""

    by: Literal["model", "off"] = setting(
        "model",
        "model: one further call judges all sentences of an answer by the evidence; off: they are "
        "shown as not checked, beside the nearest sentence of their sources",
    )
    model: str = setting("", "language model that judges; empty: the one that wrote the answer")


class CitationSettings(Section):
    """How citations look."""

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
    """Who says how well texts fit a question, and answer it."""

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
    """How much evidence an answerer is given."""

    max_tokens: int = setting(8000, "most tokens of evidence", ge=100)
    max_characters: int = setting(30_000, "most characters of evidence", ge=500)
    include_relationships: bool = setting(
        True, "whether a model is shown what an entity of the evidence is related to"
    )
    include_metadata: bool = setting(
        True, "whether a model is shown an entity's type and a source's values of the taxonomy"
    )


class FeaturesSettings(Section):
    """What an answer comes with."""

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
    verified_rating: ClassVar[int] = 80  # of a past answer that is given again where no model writes


class QaSettings(Section):
    """Whether and when questions are answered."""

    enabled: bool = setting(True, "whether questions are answered at all")
    confidence_threshold: float = setting(
        0.3, "below this there is no answer but the no-data reply", ge=0, le=1
    )
    max_clusters: int = setting(
        5, "most stories that news is told from, unless a question says", ge=1
    )
    max_sentences: ClassVar[int] = 3  # most sentences that are marked in an answer without a model


class BudgetSettings(Section):
    """What answering may cost, in US dollars; empty: no limit."""

    daily: float | None = setting(None, "US dollars a day (UTC)", ge=0)
    monthly: float | None = setting(None, "US dollars a month (UTC)", ge=0)
    cheaper_below: ClassVar[float] = 0.2  # share left of a budget below which generation.cheap_model is asked


class CacheSettings(Section):
    """Whether answers are kept to be given again."""

    answers: bool = setting(True, "whether the same question on the same material is written once")


class ResearchSettings(Section):
    """What a run of deep research may take, unless it is told otherwise."""

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
    """What becomes of questions that the material did not answer."""

    ask_again: bool = setting(
        True, "whether questions that stayed open are asked again when material arrives"
    )
    most: ClassVar[int] = 50  # most questions that are asked again at a time


class ServeSettings(Section):
    """Settings of the server."""

    host: str = setting("127.0.0.1", "address to listen on")
    port: int = setting(8756, "port to listen on", ge=0, le=65535)
    max_request_bytes: ClassVar[int] = 1_000_000  # largest request body
    max_upload_bytes: int = setting(
        300_000_000, "largest body of an upload, all its files together", gt=0
    )
    max_upload_files: ClassVar[int] = 500  # most files of one upload
    query_seconds: ClassVar[float] = 150.0  # seconds that POST /api/query may take; then it is told what was found so far
    research_seconds: ClassVar[float] = 300.0  # the same for POST /api/query/deep; research stops by itself then
    body_seconds: ClassVar[float] = 30.0  # seconds in which a request's body must begin; then at 64,000 bytes a second
    header_seconds: ClassVar[float] = 10.0  # seconds in which the line and the headers of a request must come
    asks_at_once: int = setting(8, "questions that are answered at once; 32 more wait", gt=0)
    checks_at_once: ClassVar[int] = 2  # texts that are checked at once; 32 more wait
    names: Annotated[tuple[str, ...], Many] = setting(
        (), "host names that the server answers for, beside those of this machine (docs/users.md)"
    )
    proxies: Annotated[tuple[str, ...], Many] = setting(
        (), "addresses of reverse proxies whose X-Forwarded-For and -Proto are believed"
    )
    logs: Literal["text", "json"] = setting("text", "form of the log's lines")
    traces: str = setting(
        "",
        "address of a collector that takes OpenTelemetry traces over HTTP, as "
        "http://127.0.0.1:4318 (docs/users.md); empty: none",
    )
