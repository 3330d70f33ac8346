"""Preferences by answers, REST, the command line and the page."""

from __future__ import annotations

import functools
import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import lxml.html
import pytest
from typer.testing import CliRunner

from wellread import kb as kb_module
from wellread.ask.answer import answer, final
from wellread.ask.retrieve.ranking import Found
from wellread.codec import from_plain
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.learning.preferences_learned import refresh_preferences, set_consent, set_preferences
from wellread.serve.cli import app as cli
from wellread.serve.http.app import create_app
from wellread.store.schema.stored_values import Feedback
from wellread.testing.embedding import ReadableEmbedder
from wellread.testing.llm import ScriptedModel
from wellread.types import Filters
from wellread.values.answers import Answer, Question
from wellread.values.question import Analysis, Preferences, SourceRule

BASE_URL = "http://127.0.0.1"
TEXTS = {
    "Harbour notes": "The ferry Osprey carries ninety passengers across the sound.",
    "Town letter": "The ferry Osprey carries ninety passengers on most days of the week.",
    "Bakery": "The bakery sells rye bread with caraway seeds every morning.",
}
ASKED = "How many passengers does the ferry Osprey carry?"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home that each test gets a copy of."""
    root = tmp_path_factory.mktemp("preferences")
    with open_kb(root / "home", embedder=ReadableEmbedder()) as kb:
        for place, (title, text) in enumerate(TEXTS.items()):
            path = root / f"c{place}" / "page.md"
            path.parent.mkdir()
            page = f"---\ntitle: {title}\nurl: https://www.site{place}.example/x\n---\n\n{text}\n"
            path.write_text(page, encoding="utf-8")
            add(kb, [str(path.parent)], collection=f"c{place}")
    return root / "home"


@pytest.fixture
def home(prepared: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(prepared, tmp_path / "home"))


@pytest.fixture
def kb(home: Path) -> Iterator[KnowledgeBase]:
    with open_kb(home, embedder=ReadableEmbedder()) as opened:
        yield opened


def page_of(text: str) -> Any:
    """The parsed page, whose types no stub describes."""
    return lxml.html.fromstring(text)


def rule(text: str) -> SourceRule:
    kind, _, value = text.partition(":")
    return from_plain(SourceRule, {"kind": kind, "value": value})


async def ask(kb: KnowledgeBase, text: str = ASKED, **how: Any) -> Answer:
    return await final(answer(kb, Question(text=text, **how)))


async def found_for(kb: KnowledgeBase, **how: Any) -> Found:
    seen: list[Found] = []

    def explain(_analysis: Analysis, found: Found) -> None:
        seen.append(found)

    await final(answer(kb, Question(text=ASKED, **how), explain=explain))
    return seen[0]


def titles(done: Answer) -> set[str]:
    return {one.title for one in done.citations}


@pytest.mark.parametrize("text", ["collection:c0", "site:site0.example", "document:"])
async def test_a_muted_source_is_not_used_and_the_answer_says_so(
    kb: KnowledgeBase, text: str
) -> None:
    before = await found_for(kb)
    known = {hit.document.title: hit.document for hit in before.hits}
    full = f"document:{known['Harbour notes'].id}" if text == "document:" else text
    set_preferences(kb, "", Preferences(muted=(rule(full),)))
    after = await found_for(kb)
    done = await ask(kb)
    assert "Harbour notes" not in {hit.document.title for hit in after.hits}
    assert titles(done) == {"Town letter"}
    assert any("muted by you" in note and "Harbour notes" in note for note in done.notes)


async def test_a_muted_source_is_used_when_it_is_asked_for(kb: KnowledgeBase) -> None:
    set_preferences(kb, "", Preferences(muted=(rule("collection:c0"),)))
    done = await ask(kb, filters=Filters(collections=("c0",)))
    assert titles(done) == {"Harbour notes"}
    assert not any("muted" in note for note in done.notes)


@pytest.mark.parametrize("collection", ["c0", "c1"])
async def test_a_preferred_source_comes_first_and_says_why(
    kb: KnowledgeBase, collection: str
) -> None:
    before = {hit.document.collection: hit.score for hit in (await found_for(kb)).hits}
    set_preferences(kb, "", Preferences(preferred=(rule(f"collection:{collection}"),)))
    after = (await found_for(kb)).hits
    best = next(hit for hit in after if hit.document.collection == collection)
    assert best.score == pytest.approx(min(1.0, before[collection] * 1.2))
    assert "preferred by you" in [rank.name for rank in best.ranks]
    assert all(
        "preferred by you" not in [rank.name for rank in hit.ranks]
        for hit in after
        if hit.document.collection != collection
    )


async def test_answers_of_one_person_never_come_back_to_another(kb: KnowledgeBase) -> None:
    first = await ask(kb, owner="ana")
    assert (await ask(kb, owner="ana")).cached
    set_preferences(kb, "ana", Preferences(muted=(rule("collection:c0"),)))
    second = await ask(kb, owner="ana")
    assert not second.cached
    assert titles(second) != titles(first) or titles(first) == {"Town letter"}
    other = await ask(kb, owner="ben")
    assert titles(other) == titles(first)
    assert not any("muted" in note for note in other.notes)


async def test_the_default_collection_is_asked_where_none_is_named(kb: KnowledgeBase) -> None:
    set_preferences(kb, "", Preferences(collection="c1"))
    done = await ask(kb)
    assert titles(done) == {"Town letter"}
    assert "asked of your collection c1" in done.notes
    assert titles(await ask(kb, filters=Filters(collections=("c0",)))) == {"Harbour notes"}


async def test_length_and_persona_go_into_the_prompt(home: Path) -> None:
    (home / "personas").mkdir()
    text = "name: Teacher\nprompt: Explain it to a class of ten-year-olds.\nlength: short\n"
    (home / "personas" / "teacher.yaml").write_text(text, encoding="utf-8")
    model = ScriptedModel(["It carries ninety passengers [e1]."] * 2)
    with open_kb(home, embedder=ReadableEmbedder(), model=model) as kb:
        set_preferences(kb, "", Preferences(persona="teacher"))
        await ask(kb)
        await ask(kb, owner="else")
    mine, other = (prompt.user for prompt in model.prompts)
    assert "a class of ten-year-olds" in mine
    assert "in two or three sentences at most" in mine
    assert "ten-year-olds" not in other
    assert "sentences at most" not in other


async def rated(
    kb: KnowledgeBase, scores: list[float], author: str = "", within: tuple[str, ...] = ("c0",)
) -> str:
    """Answers that cite one document, with a rating each; the document's id."""
    document = ""
    for place, score in enumerate(scores):
        how: dict[str, Any] = {
            "filters": Filters(collections=within),
            "fresh": True,
            "owner": author,
        }
        done = await ask(kb, **how)
        document = done.citations[0].document_id
        now = datetime.now(UTC)
        given = Feedback(
            id=f"f{author}{place}",
            answer_id=done.id,
            author=author,
            question=ASKED,
            created_at=now,
            updated_at=now,
            score=score,
        )
        kb.catalogue.feedback.put(given)
    return document


async def test_nothing_is_learned_or_applied_before_consent(kb: KnowledgeBase) -> None:
    document = await rated(kb, [10, 20, 0, 29])
    assert refresh_preferences(kb, "").learned == ()
    assert refresh_preferences(kb, "").effective == Preferences()
    kept = set_consent(kb, "", True)
    assert [(one.rule.value, one.effect, one.why) for one in kept.learned] == [
        (document, "lowered", "because you rated 4 answers citing it below 30")
    ]
    hit = next(h for h in (await found_for(kb)).hits if h.document.id == document)
    assert "ranked lower by you" in [rank.name for rank in hit.ranks]
    kept = set_consent(kb, "", False)
    assert (kept.learned, kept.effective) == ((), Preferences())
    assert all("by you" not in r.name for h in (await found_for(kb)).hits for r in h.ranks)


@pytest.mark.parametrize("scores", [[10.0, 20.0], [10.0, 20.0, 5.0, 90.0], [30.0, 40.0, 79.0]])
async def test_too_few_or_mixed_ratings_suggest_nothing(
    kb: KnowledgeBase, scores: list[float]
) -> None:
    await rated(kb, scores)
    assert set_consent(kb, "", True).learned == ()


async def test_what_was_learned_is_shown_revoked_and_restored_on_the_page(
    kb: KnowledgeBase,
) -> None:
    document = await rated(kb, [90, 80, 100])
    transport = httpx.ASGITransport(create_app(kb), raise_app_exceptions=False)
    async with httpx.AsyncClient(
        transport=transport, base_url=BASE_URL, follow_redirects=True
    ) as client:
        page = await client.post("/preferences/learned", data={"consent": "yes"})
        words = " ".join(page_of(page.text).text_content().split())
        assert "Ranked higher: Harbour notes because you rated 3 answers citing it" in words
        await client.post("/preferences/learned", data={"revoke": document})
        body = (await client.get("/api/preferences")).json()
        assert [one["revoked"] for one in body["learned"]] == [True]
        assert kb.catalogue.preferences.of("").effective == Preferences()
        await client.post("/preferences/learned", data={"restore": document})
        assert len(kb.catalogue.preferences.of("").effective.preferred) == 1
        for kind, name in (("document", "Bakery"), ("site", "site1.example")):
            sent = page_of((await client.get("/preferences")).text)
            kept = [box.get("value") for box in sent.xpath("//input[@name='muted']")]
            rule = {"effect": "muted", "rule_kind": kind, "rule": name}
            await client.post("/preferences", data=rule | {"muted": kept, "length": "short"})
        given = kb.catalogue.preferences.of("").given
        assert [one.kind for one in given.muted] == ["document", "site"]
        assert "Bakery" in page_of((await client.get("/preferences")).text).text_content()
        assert given.length == "short"


async def test_the_interface_changes_what_is_given_and_refuses_the_rest(kb: KnowledgeBase) -> None:
    transport = httpx.ASGITransport(create_app(kb), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url=BASE_URL) as client:
        body = (await client.patch("/api/preferences", json={"muted": ["collection:c2"]})).json()
        assert body["muted"] == [{"kind": "collection", "value": "c2", "title": ""}]
        body = (await client.patch("/api/preferences", json={"length": "long"})).json()
        assert (body["length"], len(body["muted"])) == ("long", 1)
        for wrong in (
            {"length": "endless"},
            {"language": "de"},
            {"muted": ["nothing"]},
            {"muted": ["document:Unknown"]},
            {"persona": "../x"},
            {"unknown": 1},
        ):
            assert (await client.patch("/api/preferences", json=wrong)).status_code == 400, wrong
        missing = await client.patch("/api/preferences", json={"collection": "nowhere"})
        assert missing.status_code == 404


def test_the_command_shows_and_changes(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opener = functools.partial(open_kb, embedder=ReadableEmbedder())
    monkeypatch.setattr(kb_module, "open_kb", opener)
    monkeypatch.setenv("WELLREAD_HOME", str(home))
    run = functools.partial(CliRunner().invoke, cli)
    for words in (("muted", "site:site0.example"), ("length", "short"), ("consent", "yes")):
        done = run(["preferences", *words])
        assert done.exit_code == 0, done.output
    assert "site:site0.example" in done.output
    body = json.loads(run(["--json", "preferences"]).output)
    assert (body["length"], body["consent"], body["languages"]) == ("short", True, ["en"])
    assert json.loads(run(["--json", "preferences", "muted"]).output)["muted"] == []
    assert run(["preferences", "length", "endless"]).exit_code == 1
