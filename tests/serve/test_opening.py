"""``wellread show citation``: the citation of an answer at its place, or a reason why not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from wellread.ask.answer import answer, final
from wellread.errors import RequestError
from wellread.identity import document_id
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase
from wellread.serve.cli import app
from wellread.serve.features.kept_answers import opened_body
from wellread.values.answers import Answer, Question

FERRY_QUESTION = "When does the ferry leave the harbour every morning?"


async def ask(kb: KnowledgeBase, text: str) -> Answer:
    given = await final(answer(kb, Question(text=text)))
    assert given.citations
    return given


async def test_open_shows_the_quote_with_what_stands_around_it(
    kb: KnowledgeBase, runner: CliRunner
) -> None:
    given = await ask(kb, FERRY_QUESTION)
    first = given.citations[0]
    result = runner.invoke(app, ["show", "citation"])
    assert result.exit_code == 0, result.output
    assert f"[1] {first.title}" in result.output
    assert first.quote in " ".join(result.output.split())
    assert "On Sundays it leaves at nine." in " ".join(result.output.split())


async def test_open_as_json_has_the_sentences_around(kb: KnowledgeBase, runner: CliRunner) -> None:
    given = await ask(kb, FERRY_QUESTION)
    await ask(kb, "What will be repaired in March?")
    for citation in given.citations:
        command = ["--json", "show", "citation", str(citation.id), "--answer", given.id]
        result = runner.invoke(app, command)
        assert result.exit_code == 0, result.output
        body = json.loads(result.stdout)
        assert body["number"] == citation.id
        assert body["quote"] == citation.quote
        assert body["locator"] == citation.locator.label
        assert body["link"] == citation.link
        document = kb.catalogue.document(citation.document_id)
        assert document is not None
        text = " ".join(document.text.split())
        around = " ".join(f"{body['before']} {body['quote']} {body['after']}".split())
        assert around.strip("… ") in text


async def test_what_cannot_be_opened_is_said(kb: KnowledgeBase, runner: CliRunner) -> None:
    result = runner.invoke(app, ["show", "citation"])
    assert result.exit_code != 0
    assert "there are no answers yet" in result.output
    given = await ask(kb, FERRY_QUESTION)
    result = runner.invoke(app, ["show", "citation", "99"])
    assert result.exit_code != 0
    assert "the answer has no citation 99" in result.output
    assert f"it has {len(given.citations)}" in result.output
    result = runner.invoke(app, ["show", "citation", "--answer", "ans_none"])
    assert result.exit_code != 0
    assert "there is no answer 'ans_none'" in result.output


async def test_a_changed_source_is_not_shown_as_if_it_were_the_same(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    path = tmp_path / "note.txt"
    path.write_text("The lighthouse keeper paints the lantern room every spring.")
    add(kb, [str(path)], collection="town")
    given = await ask(kb, "When does the lighthouse keeper paint the lantern room?")
    assert opened_body(kb, given, 1).quote == path.read_text()
    path.write_text("The lighthouse keeper paints the lantern room every autumn, they say.")
    add(kb, [str(path)], collection="town")
    with pytest.raises(RequestError, match="changed or removed"):
        opened_body(kb, given, 1)
    kb.catalogue.remove_documents([document_id("town", path.as_uri())])
    with pytest.raises(RequestError, match="changed or removed"):
        opened_body(kb, given, 1)
