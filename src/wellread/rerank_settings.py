"""The settings of the section ``rerank``; ``config.py`` reads them with all the others."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class RerankSettings(BaseModel):
    """Who puts the best passages of a search into a better order, and where that runs."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    backend: Literal["none", "local", "http", "model"] = Field(
        default="none",
        description="which reranker: none, a cross-encoder in a folder (extra rerank), a server, "
        "or the language model of generation.model",
    )
    depth: int = Field(
        default=30, ge=2, le=200, description="best passages of a search that are reranked"
    )
    weight: float = Field(
        default=0.7,
        ge=0,
        le=1,
        description="share of the reranker in the joined order; 1: its order alone",
    )
    model_path: str = Field(
        default="",
        description="folder with the ONNX file of a cross-encoder and its tokenizer.json",
    )
    threads: int = Field(
        default=0, ge=0, description="threads of the local cross-encoder; 0 takes all cores"
    )
    url: str = Field(default="", description="base URL of a server with the route /rerank")
    format: Literal["jina", "tei"] = Field(
        default="jina",
        description="the server's wire format: Jina's (Cohere, vLLM, Infinity, llama.cpp) or that "
        "of Text Embeddings Inference",
    )
    model: str = Field(
        default="", description="model name to ask the server for; not needed with tei"
    )
    api_key_env: str = Field(
        default="RERANK_API_KEY", description="environment variable that holds the server's key"
    )
    timeout: float = Field(
        default=20.0,
        gt=0,
        description="seconds that reranking (each request to a server) may take; after that the "
        "search's own order is taken",
    )
