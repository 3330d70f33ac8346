"""The settings of asking: who writes, how it is checked, what it may cost.

``config.py`` reads them with all the others.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Style = Literal["number", "auto", "title", "page", "time", "entity"]


class Section(BaseModel):
    """One section of the settings: frozen, and nothing unknown in it."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


class GenerationSettings(Section):
    """Who writes answers."""

    model: str = Field(
        default="",
        description="language model, for example openai:gpt-4o-mini, anthropic:claude-sonnet-4-5, "
        "google:gemini-2.5-flash or claude-cli; empty: extractive answers",
    )
    fallback_model: str = Field(
        default="", description="language model that is asked when the first one fails"
    )
    cheap_model: str = Field(
        default="", description="language model that is asked when the budget runs low"
    )
    base_url: str = Field(
        default="",
        description="server to ask instead of the usual one of the first provider that is named",
    )
    api_key_env: str = Field(
        default="",
        description="environment variable with the key of the first provider that is named; "
        "empty: the provider's usual",
    )
    command: str = Field(default="claude", description="command line program behind claude-cli")
    temperature: float = Field(default=0.3, ge=0, le=2, description="sampling temperature")
    max_tokens: int = Field(default=2000, ge=1, description="most tokens of one answer")
    timeout: float = Field(
        default=120.0, gt=0, description="seconds until a model call is given up"
    )
    retries: int = Field(
        default=2, ge=0, le=10, description="further tries after a retryable failure"
    )
    input_price: float | None = Field(
        default=None,
        ge=0,
        description="US dollars for a million tokens read; empty: the price list's",
    )
    output_price: float | None = Field(
        default=None,
        ge=0,
        description="US dollars for a million tokens written; empty: the price list's",
    )


class CitationSettings(Section):
    """How citations look."""

    style: Style = Field(
        default="number", description="how a citation is rendered; auto: by the kind of source"
    )
    strict: bool = Field(
        default=False, description="drop unsupported sentences instead of marking them"
    )


class ReaderSettings(Section):
    """Who says how well texts fit a question, answer it, and bear out a claim."""

    relevance: str = Field(
        default="lexical",
        min_length=1,
        description="who puts the best passages in order: lexical (the search's own order), onnx "
        "(a cross-encoder in a folder; extra rerank), http (a server), llm (the language model of "
        "generation.model), or the name of a plug-in",
    )
    answers: str = Field(
        default="lexical",
        min_length=1,
        description="who says how far a sentence answers the question; as reader.relevance",
    )
    entails: str = Field(
        default="lexical",
        min_length=1,
        description="who rules on sentences that the built-in steps leave in doubt: lexical "
        "(nobody), onnx, http, llm (a fact-checking model in a folder, on a server, the language "
        "model), or the name of a plug-in",
    )
    depth: int = Field(
        default=30, ge=2, le=200, description="best passages of a search that are put in order"
    )
    weight: float = Field(
        default=0.7,
        ge=0,
        le=1,
        description="share of the reader in the joined order; 1: its order alone",
    )
    most: int = Field(default=4, ge=0, description="most sentences of one answer that are ruled on")
    timeout: float = Field(
        default=20.0,
        gt=0,
        description="seconds that one call (each request to a server, each ruling) may take; after "
        "that the order and the verdicts stay as they were",
    )
    threads: int = Field(default=0, ge=0, description="threads of onnx; 0 takes all cores")
    model_path: str = Field(
        default="",
        description="folder with the ONNX file of a cross-encoder and its tokenizer.json",
    )
    entails_path: str = Field(
        default="",
        description="folder with the ONNX file of a fact-checking model and its tokenizer.json",
    )
    url: str = Field(default="", description="base URL of a server with the route /rerank")
    format: Literal["jina", "tei"] = Field(
        default="jina",
        description="that server's wire format: Jina's (Cohere, vLLM, Infinity, llama.cpp) or that "
        "of Text Embeddings Inference",
    )
    model: str = Field(
        default="", description="model name to ask that server for; not needed with tei"
    )
    api_key_env: str = Field(
        default="READER_API_KEY", description="environment variable that holds that server's key"
    )
    entails_url: str = Field(
        default="", description="address that takes {document, claim} and gives a probability"
    )
    entails_key_env: str = Field(
        default="", description="environment variable that holds the key of reader.entails_url"
    )


class ContextSettings(Section):
    """How much evidence an answerer is given."""

    max_tokens: int = Field(default=8000, ge=100, description="most tokens of evidence")
    max_characters: int = Field(default=30_000, ge=500, description="most characters of evidence")


class FeaturesSettings(Section):
    """What an answer comes with."""

    follow_up: bool = Field(
        default=True, description="whether a question of a session is read with those before it"
    )
    suggest_related: bool = Field(
        default=True, description="whether related material and further questions are named"
    )
    similar_questions: bool = Field(
        default=True, description="whether a model is shown past questions that experts rated"
    )
    similar_threshold: float = Field(
        default=0.8, ge=-1, le=1, description="least cosine of a past question that is shown"
    )
    similar_most: int = Field(default=3, ge=0, description="most past questions that are shown")
    similar_rating: int | None = Field(
        default=None,
        ge=0,
        le=100,
        description="expert rating that past questions are compared with; empty: all",
    )
    similar_comparison: Literal["lt", "lte", "eq"] = Field(
        default="lt", description="how a past question's rating has to compare"
    )


class QaSettings(Section):
    """Whether and when questions are answered."""

    enabled: bool = Field(default=True, description="whether questions are answered at all")
    confidence_threshold: float = Field(
        default=0.3, ge=0, le=1, description="below this there is no answer but the no-data reply"
    )
    max_clusters: int = Field(
        default=5, ge=1, description="most stories that news is told from, unless a question says"
    )
    max_sentences: int = Field(
        default=3, ge=1, le=20, description="most sentences of an extractive answer"
    )


class BudgetSettings(Section):
    """What answering may cost, in US dollars; empty: no limit."""

    daily: float | None = Field(default=None, ge=0, description="US dollars a day (UTC)")
    monthly: float | None = Field(default=None, ge=0, description="US dollars a month (UTC)")
    cheaper_below: float = Field(
        default=0.2,
        ge=0,
        le=1,
        description="share left of a budget below which generation.cheap_model is asked",
    )


class CacheSettings(Section):
    """Whether answers are kept to be given again."""

    answers: bool = Field(
        default=True, description="whether the same question on the same material is written once"
    )
