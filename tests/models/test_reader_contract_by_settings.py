"""The reader contract for each back end that the settings can name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.doubles.openai_server import OpenAIServer
from tests.doubles.post_server import PostServer, ok
from tests.doubles.replies import Request, Text
from tests.doubles.web_server import Reply
from tests.models import test_reader_onnx_ranking as ranker

from wellread.ask_settings import GenerationSettings, ReaderSettings
from wellread.models.language.open_language_model import open_model
from wellread.models.reader import Reader
from wellread.models.readers.lexical import LexicalReader
from wellread.models.readers.open_reader import Opening, ReaderByHead, open_reader
from wellread.testing.reader_contract import ReaderContract, words_of


def reader_of(backend: str, *, model_url: str = "", **settings: Any) -> ReaderByHead:
    named = {"relevance": backend, "answers": "lexical"}
    generation = GenerationSettings(model="scripted", base_url=model_url, retries=0)
    return open_reader(
        Opening(
            settings=ReaderSettings.model_validate(named | settings),
            lexical=LexicalReader(),
            model=lambda _: open_model(generation, {}) if model_url else None,
            record=lambda _: None,
            environ={},
        )
    )


def share(wanted: str, text: str) -> float:
    words = words_of(wanted)
    return len(words & words_of(text)) / max(len(words), 1)


def served(body: dict[str, Any]) -> Reply:
    """A reranker."""
    scores = [share(body["query"], text) for text in body["documents"]]
    rows = [{"index": at, "relevance_score": score} for at, score in enumerate(scores)]
    return ok({"results": rows[::-1]})


def said(request: Request) -> Text:
    """What a model replies that does as its prompt says."""
    user = request.body["messages"][-1]["content"]
    texts = re.findall(r'<passage-(\w+) key="(\w+)">\n(.*?)\n</passage-\1>', user, re.DOTALL)
    question = user.rpartition("\nQuestion: ")[2]
    return Text(text=json.dumps({key: 10 * share(question, text) for _, key, text in texts}))


class TestHttp(ReaderContract):
    @pytest.fixture
    def reader(self) -> Iterator[Reader]:
        with PostServer(served, "/v1/rerank") as server:
            reader = reader_of("http", url=server.url("/v1"), model="tiny")
            yield reader
            reader.close()


class TestOnnx(ReaderContract):
    @pytest.fixture
    def reader(self, tmp_path: Path) -> Reader:
        ranking = ranker.write_model(tmp_path / "ranking", ranker.graph_of())
        ranker.write_tokenizer(ranking)
        return reader_of("onnx", threads=1, model_path=str(ranking))


class TestLanguageModel(ReaderContract):
    @pytest.fixture
    def reader(self) -> Iterator[Reader]:
        with OpenAIServer([said]) as server:
            yield reader_of("llm", model_url=server.url, timeout=60.0)
