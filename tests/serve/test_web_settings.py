"""The settings page as an admin uses it: a model with its key, and where every value comes from."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import httpx
import lxml.html
import pytest
from tests.doubles.openai_server import UNAUTHORIZED, OpenAIServer
from tests.doubles.replies import Text
from tests.serve.conftest import page, words

from wellread.ingest.backup import export_home
from wellread.kb import KnowledgeBase
from wellread.models.open_language_model import KEYS_FILE
from wellread.settings_file import load_settings

KEY = "sk-canary-5f1c"
SAID = "I am a scripted model."


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "WELLREAD_GENERATION_MODEL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def model_server() -> Iterator[OpenAIServer]:
    with OpenAIServer([Text(text=SAID)]) as server:
        yield server


async def save(client: httpx.AsyncClient, **fields: str) -> httpx.Response:
    form = {"preset": "other", "action": "save", **fields}
    return await client.post("/settings", data=form, headers={"accept": "text/html"})


async def test_a_model_is_set_up_tried_and_used_without_a_restart(
    kb: KnowledgeBase, client: httpx.AsyncClient, model_server: OpenAIServer
) -> None:
    saved = await save(client, base_url=model_server.url, model="small", key=KEY, daily="2.50")
    assert (saved.status_code, saved.headers["location"]) == (303, "/settings?saved=true")
    kept = load_settings(kb.home, environ={})
    assert (kept.generation.model, kept.generation.base_url) == ("small", model_server.url)
    assert kept.budget.daily == 2.5
    tried = await client.post("/settings/test", headers={"accept": "text/html"})
    assert SAID in tried.text
    assert "price unknown, so" in tried.text
    (chat,) = model_server.chats
    assert chat.headers["authorization"] == f"Bearer {KEY}"
    assert kb.models.names()["model"].startswith("small@")
    assert KEY not in tried.text


async def test_the_key_is_in_a_file_for_its_owner_and_nowhere_else(
    kb: KnowledgeBase, client: httpx.AsyncClient, model_server: OpenAIServer, tmp_path: Path
) -> None:
    await save(client, base_url=model_server.url, model="small", key=KEY)
    path = kb.home / KEYS_FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(path.read_text()) == {model_server.url: KEY}
    export_home(kb, tmp_path / "kept.tar")
    places = [tmp_path / "kept.tar", *(one for one in kb.home.rglob("*") if one.is_file())]
    assert [one for one in places if KEY.encode() in one.read_bytes()] == [path]
    shown = await client.get("/settings", headers={"accept": "text/html"})
    assert KEY not in shown.text
    assert "A key for 127.0.0.1" in shown.text
    await save(client, base_url=model_server.url, model="small", forget="yes")
    assert json.loads(path.read_text()) == {}


async def test_a_key_is_not_sent_to_an_address_that_it_was_not_entered_for(
    client: httpx.AsyncClient, model_server: OpenAIServer
) -> None:
    await save(client, base_url=model_server.url, model="small", key=KEY)
    with OpenAIServer([UNAUTHORIZED]) as other:
        await save(client, base_url=other.url, model="small")
        tried = await client.post("/settings/test", headers={"accept": "text/html"})
        assert "The model did not answer" in tried.text
        assert KEY not in json.dumps(dict(other.chats[0].headers))


async def test_what_was_typed_stays_when_it_is_refused(
    kb: KnowledgeBase, client: httpx.AsyncClient
) -> None:
    for wrong, why in (
        ({"base_url": "gpu.local", "model": "small"}, "not an http(s) URL"),
        ({"base_url": "http://gpu.local/v1", "model": ""}, "no model is named"),
        ({"base_url": "http://gpu.local/v1", "model": "small", "daily": "much"}, "not an amount"),
    ):
        refused = await save(client, **wrong)
        assert 400 <= refused.status_code < 600
        assert why in refused.text
        for value in filter(None, wrong.values()):
            assert f'value="{value}"' in refused.text
    assert load_settings(kb.home, environ={}).generation.model == ""


async def test_a_setting_of_the_environment_is_shown_with_its_variable_and_not_changed(
    kb: KnowledgeBase, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WELLREAD_BUDGET_DAILY", "7")
    await save(client, preset="none", daily="1", monthly="30")
    assert "monthly: 30" in (kb.home / "wellread.yaml").read_text()
    assert "daily" not in (kb.home / "wellread.yaml").read_text()
    shown = await page(client, "/settings", find="US dollars a")
    rows = [words(row) for row in shown.cssselect("table.settings tbody tr")]
    assert any("budget.daily" in row and "7WELLREAD_BUDGET_DAILY" in row for row in rows)
    assert any("budget.monthly" in row and "30wellread.yaml" in row for row in rows)
    assert not any("retrieval.top_k" in row for row in rows)


async def test_the_server_is_asked_for_its_models(
    client: httpx.AsyncClient, model_server: OpenAIServer
) -> None:
    asked = await save(client, base_url=model_server.url, model="", action="models")
    choices = lxml.html.fromstring(asked.text).cssselect("select[name=model] option")
    assert [words(choice) for choice in choices] == ["choose one", "large", "small"]


async def test_a_server_that_is_not_there_says_so(client: httpx.AsyncClient) -> None:
    asked = await save(client, base_url="http://127.0.0.1:9/v1", model="", action="models")
    assert asked.status_code == 502
    assert "127.0.0.1:9 cannot be reached" in asked.text


async def test_health_tells_in_words_and_examines_on_demand(
    kb: KnowledgeBase, client: httpx.AsyncClient
) -> None:
    shown = await page(client, "/health")
    assert "Catalogue and search index can be read" in words(shown)
    assert shown.cssselect(".checks .bad") == []
    examined = await client.post("/health", headers={"accept": "text/html"})
    assert "Everything matches" in examined.text
    kb.index.remove([(held.document_id, held.version) for held in kb.index.held()][:1])
    examined = await client.post("/health", headers={"accept": "text/html"})
    assert "Some things do not match" in examined.text


async def test_the_theme_is_kept_in_the_browser(client: httpx.AsyncClient) -> None:
    await client.post("/preferences/theme", data={"theme": "dark"})
    assert (await page(client, "/preferences")).get("data-theme") == "dark"
