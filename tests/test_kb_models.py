"""The models of a home: opened when first asked, and their calls in the books."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from tests.doubles.recorded_calls import newest_calls

from wellread import kb as kb_module
from wellread.errors import ModelError
from wellread.kb import KnowledgeBase, open_kb
from wellread.models.base import LanguageModel, Prompt
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.llm import ScriptedModel, collect
from wellread.testing.reader_contract import ReadableReader

PROMPT = Prompt(system="s", user="u")


def calls(kb: KnowledgeBase) -> list[tuple[str, str, str, int]]:
    return [
        (call.purpose, call.provider, call.model, call.input_tokens)
        for call in newest_calls(kb.catalogue, 9)
    ]


async def test_a_model_is_opened_by_its_first_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def open_scripted(settings: object, *, name: str, keys: object) -> LanguageModel:
        opened.append(name)
        return ScriptedModel(["yes", "yes"], identity=f"opened:{name}")

    monkeypatch.setattr(kb_module, "open_model", open_scripted)
    settings = {"generation": {"model": "big", "cheap_model": "small"}}
    with open_kb(tmp_path, overrides=settings, embedder=ReadableEmbedder()) as kb:
        judge, rewriter = kb.model_for("judge"), kb.model_for("plan")
        assert judge is not None
        assert rewriter is not None
        assert (opened, judge.identity) == ([], "big")
        await collect(judge, PROMPT)
        await collect(rewriter, PROMPT)
        assert (opened, judge.identity) == (["big"], "opened:big")
        assert [call[0] for call in calls(kb)] == ["plan", "judge"]


async def test_a_model_that_cannot_be_opened_fails_when_it_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    settings = {"generation": {"model": "openai:gpt-4o-mini"}}
    with open_kb(tmp_path, overrides=settings, embedder=ReadableEmbedder()) as kb:
        model = kb.model
        assert model is not None
        with pytest.raises(ModelError, match="OPENAI_API_KEY"):
            await collect(model, PROMPT)


class Slow(ReadableReader):
    """Notes who prepares it, and may fail."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self.threads: list[threading.Thread] = []
        self._error = error

    def prepare(self) -> None:
        self.threads.append(threading.current_thread())
        if self._error:
            raise self._error


@pytest.mark.parametrize("error", [None, ModelError("gone")])
@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_models_are_loaded_beside_the_rest_once(tmp_path: Path, error: Exception | None) -> None:
    """In a thread that has ended when the base is closed; an error waits for who uses them."""
    reader = Slow(error)
    with open_kb(tmp_path, reader=reader, embedder=ReadableEmbedder()) as kb:
        assert kb.live().embedder
        kb.prepare()
    (thread,) = reader.threads
    assert thread is not threading.current_thread()
    assert not thread.is_alive()
