"""A server that sends the key back: no log line, no answer and no file of the home holds it.

One canary for each provider and each server that a home can name.
"""

from __future__ import annotations

import base64
import logging
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.doubles.anthropic_server import AnthropicServer
from tests.doubles.claude_program import ClaudeProgram
from tests.doubles.google_server import GoogleServer
from tests.doubles.openai_server import OpenAIServer
from tests.doubles.post_server import PostServer, fixed, ok
from tests.doubles.replies import ErrorEvent, Failure
from tests.doubles.web_server import Reply

from wellread.ask.answer import answer, final
from wellread.codec import to_plain
from wellread.config import GenerationSettings
from wellread.errors import ModelError, SettingsError
from wellread.ingest.run import add
from wellread.kb import open_kb
from wellread.models.base import Prompt
from wellread.models.embedders.http_embedder import HttpEmbedder
from wellread.models.open_language_model import open_model
from wellread.models.server_calls import remove_keys, secrets_in
from wellread.testing.llm import collect
from wellread.values.answers import Question

CANARY = "sk-canary/7+Q=="
FORMS = (
    CANARY,
    quote(CANARY, safe=""),
    f"Bearer {CANARY}",
    base64.b64encode(CANARY.encode()).decode(),
    f"{'x' * 290} {CANARY}",  # where the message is cut
)
PROVIDERS = {
    "openai:tiny": (OpenAIServer, "OPENAI_API_KEY"),
    "anthropic:tiny": (AnthropicServer, "ANTHROPIC_API_KEY"),
    "google:tiny": (GoogleServer, "GEMINI_API_KEY"),
    "tiny": (OpenAIServer, "MY_KEY"),
}


def holds_canary(text: str) -> bool:
    """Whether any half of the key stands in ``text``, however it is written."""
    return any(half in text for form in FORMS[:4] for half in (form[:9], form[-9:]))


@pytest.mark.parametrize("model", PROVIDERS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("how", ["status", "stream"])
async def test_a_language_model(
    model: str, form: str, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "wellread")
    opens, variable = PROVIDERS[model]
    reply = (
        Failure(status=400, message=f"no such key: {form}")
        if how == "status"
        else ErrorEvent(message=f"no such key: {form}")
    )
    with opens([reply]) as server:
        settings = GenerationSettings(
            model=model, base_url=server.url, api_key_env=variable, retries=0
        )
        opened = open_model(settings, {variable: CANARY})
        assert opened is not None
        with pytest.raises(ModelError) as caught:
            await collect(opened, Prompt(system="s", user="u"))
    assert not holds_canary(f"{caught.value!s} {caplog.text}")


REPLIES = (
    *(Reply(status=401, body=form.encode()) for form in FORMS),
    *(Reply(status=500, body=b'{"error": {"message": "%s"}}' % form.encode()) for form in FORMS),
    ok({"data": [{"index": 0, "embedding": [CANARY]}]}),
    ok({"data": [{"index": 0, "embedding": CANARY}]}),
    Reply(body=f"no JSON {CANARY}".encode()),
)


def test_a_server_of_embeddings(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "wellread")
    for reply in REPLIES:
        with PostServer(fixed(reply), "/v1/embeddings") as server:
            address = server.url("/v1")
            embedder = HttpEmbedder(address, "tiny", api_key=CANARY, sleep=lambda _: None)
            with pytest.raises(ModelError) as caught:
                embedder.embed(["ferry"], "query")
        assert not holds_canary(f"{caught.value!s} {caplog.text}"), reply


def test_a_password_in_an_address_is_not_told() -> None:
    with pytest.raises(SettingsError) as caught:
        HttpEmbedder(f"ftp://me:{quote('hunter22', safe='')}@host/v1", "tiny")
    assert "hunter22" not in str(caught.value)


async def test_the_program_claude(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "wellread")
    program = ClaudeProgram(tmp_path, [("complain", f"bad {CANARY}"), ("exit", 1)])
    environ = {"ANTHROPIC_API_KEY": CANARY, "PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    settings = GenerationSettings(model="claude-cli", command=str(program.path), retries=0)
    opened = open_model(settings, environ)
    assert opened is not None
    with pytest.raises(ModelError) as caught:
        await collect(opened, Prompt(system="s", user="u"))
    assert not holds_canary(f"{caught.value!s} {caplog.text}")


async def test_nothing_of_it_is_in_the_answer_the_log_or_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "wellread")
    monkeypatch.setenv("CANARY_KEY", CANARY)
    source = tmp_path / "sources"
    source.mkdir()
    for at, said in enumerate(("was bought in 2021", "carries ninety people", "is white")):
        (source / f"{at}.md").write_text(f"# Ferry {at}\n\nThe ferry Osprey {said}.\n")

    def vectors(asked: dict[str, Any]) -> Reply:
        rows = [{"index": at, "embedding": [1.0, 0.5]} for at, _ in enumerate(asked["input"])]
        return ok({"data": rows})

    refusal = fixed(Reply(status=401, body=f"bad key {CANARY}".encode()))
    with PostServer(vectors, "/v1/embeddings") as embedding:
        overrides = {
            "embedding": {
                "backend": "http",
                "url": embedding.url("/v1"),
                "model": "tiny",
                "api_key_env": "CANARY_KEY",
            },
        }
        with open_kb(tmp_path / "home", overrides=overrides) as kb:
            add(kb, [str(source)])
            done = await final(answer(kb, Question(text="When was the ferry bought?")))
            assert not holds_canary(str(to_plain(done)))
            embedding.usual = refusal
            with pytest.raises(ModelError, match=r"\*\*\*") as caught:
                await final(answer(kb, Question(text="What is Osprey?")))
            assert not holds_canary(str(caught.value))
        assert f"Bearer {CANARY}" in embedding.keys
    assert not holds_canary(caplog.text)
    for path in (tmp_path / "home").rglob("*"):
        if path.is_file():
            assert not holds_canary(path.read_bytes().decode("latin-1")), path


def test_short_keys_are_no_words() -> None:
    assert remove_keys("a key", ["", " ", "k"]) == "a key"
    environ = {"MY_API_KEY": "a", "GH_TOKEN": "b", "KEYBOARD": "c", "SECRET_X": "d", "HOME": "e"}
    assert secrets_in(environ) == ["a", "b", "d"]
