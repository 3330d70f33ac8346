"""Nothing of a source, a file's name or a question drives the screen of whoever reads an output."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.library.uploads import safe_name
from wellread.serve.cli import app
from wellread.serve.error_shapes import Problem, openai_error
from wellread.serve.http.app import create_app, rules
from wellread.testing.embedding import ReadableEmbedder
from wellread.text.characters import escape_json, harmless

BAD = "\x1b[31m\x9b2J\x7f\u202e\u2066\u200b\x07"
RAW = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
FORGED = "added  9999 files"


@pytest.fixture(scope="module")
def nasty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home of sources that are full of such characters; ``papers`` beside it."""
    root = tmp_path_factory.mktemp("nasty")
    papers = root / "papers"
    papers.mkdir()
    (papers / f"fer{BAD}ry\n{FORGED}.md").write_text(
        f'---\ntitle: "The \\u202e\\x1b[31m Osprey"\nauthors: ["Il\\x9bse"]\n---\n'
        f"# The ferry {BAD}\n\n"
        f"The ferry Osprey {BAD} was bought for 2.6 million euros.\n\n## Crew {BAD}\n\nMany.\n"
    )
    (papers / f"bro{BAD}ken\n{FORGED}.pdf").write_text("no")
    (papers / "talk.vtt").write_text(
        f"WEBVTT\n\n00:00:01.000 --> 00:00:05.000\n<v Ana{BAD}>The boathouse {BAD} roof leaks.\n"
    )
    (papers / "boat.md").write_text(
        '---\nid: osprey\ntype: boat\naliases: ["Os\\x9bprey"]\n---\n# Osprey \x9bBoat\n\nA boat.\n'
    )
    with open_kb(root / "home", embedder=ReadableEmbedder()) as made:
        add(made, [str(papers)])
    return root


@pytest.fixture
def kb(nasty: Path, home: Path) -> Iterator[KnowledgeBase]:
    shutil.copytree(nasty / "home", home)
    with open_kb(home, embedder=ReadableEmbedder()) as opened:
        yield opened


async def test_no_answer_page_or_export_of_the_server_holds_them(
    kb: KnowledgeBase, client: httpx.AsyncClient
) -> None:
    said = []
    for question in (f"How much was the {BAD} ferry Osprey bought for?", "List all documents"):
        said.append(await client.post("/api/ask", json={"question": question}))
        said.append(await client.post("/api/ask", json={"question": question, "stream": True}))
        messages = [{"role": "user", "content": question}]
        body = {"model": "wellread", "messages": messages}
        said.append(await client.post("/v1/chat/completions", json=body))
    api = [path for path, how in create_app(kb).openapi()["paths"].items() if "get" in how]
    pages = {path for method, path, _ in rules() if method == "GET"} - set(api)
    answers = [one.id for one in kb.catalogue.answers()]
    ids = {
        "{document_id}": [one.id for one in kb.catalogue.documents("default")],
        "{answer_id}": answers,
        "{session_id}": [kb.catalogue.sessions.of("")[0].id],
        "{job_id}": [kb.catalogue.jobs.newest()[0].id],
        "{name}": ["osprey", "%1b%c2%9b"],
        "{entity_id}": ["osprey"],
    }
    for path in sorted({*api, *pages}):
        named = next((name for name in ids if name in path), "")
        for known in ids.get(named, [""]):
            where = path.replace(named, known) if named else path
            said.append(await client.get(where, params={"query": "ferry", "topic": "x\x9b"}))
            said.append(await client.get(where))
    for answer in answers[:2]:
        for form in ("markdown", "bibtex", "csl-json"):
            said.append(await client.get(f"/api/answers/{answer}/export?format={form}"))
    assert sum(one.status_code == 200 for one in said) > 40
    for one in said:
        if one.headers.get("content-type", "").startswith(("text", "application/json")):
            assert RAW.search(one.text) is None, one.url
        assert RAW.search(str(one.headers)) is None, one.url


@pytest.mark.parametrize(
    "command",
    [
        ("ask", "How much was the ferry Osprey bought for?"),
        ("show", "document"),
        ("search", "ferry"),
        ("show", "entity", "osprey"),
        ("jobs", f"job{BAD}"),
        ("remove", f"job{BAD}"),
        ("add", f"/nowhere{BAD}\n{FORGED}"),
        ("backup", "import", f"/nowhere{BAD}"),
    ],
    ids=lambda command: command[0],
)
def test_no_command_writes_them(kb: KnowledgeBase, runner: CliRunner, command: tuple[str]) -> None:
    for how in ((), ("--json",)):
        result = runner.invoke(app, [*command, *how])
        assert RAW.search(result.output) is None, how
        assert f"\n{FORGED}" not in result.output


def test_the_name_of_a_file_forges_no_line_of_a_report(
    nasty: Path, home: Path, runner: CliRunner
) -> None:
    result = runner.invoke(app, ["add", str(nasty / "papers")])
    lines = result.output.splitlines()
    assert not any(line.startswith(FORGED) for line in lines)
    assert any(line.startswith("failed    /") and FORGED in line for line in lines)
    (job, *_) = json.loads(runner.invoke(app, ["jobs", "--json"]).output)["items"]
    shown = runner.invoke(app, ["jobs", job["id"]]).output.splitlines()
    assert not any(line.strip().startswith(FORGED) for line in shown)


def test_errors_and_json_hold_them_as_escapes_at_most() -> None:
    problem = Problem(error="x", detail=f"no {BAD}", hint=BAD)
    assert (
        RAW.search(json.dumps([problem.body(), openai_error(problem)], ensure_ascii=False)) is None
    )
    told = json.dumps({"a": f"no {BAD}\n"}, ensure_ascii=False, indent=2)
    assert RAW.search(escape_json(told)) is None
    assert json.loads(escape_json(told)) == {"a": f"no {BAD}\n"}


def test_an_upload_is_kept_under_a_name_without_them() -> None:
    assert RAW.search(safe_name(f"no{BAD}\u2028tes.md")) is None
    assert safe_name("übersicht 1.md") == "übersicht 1.md"


def test_line_breaks_tabs_and_joiners_stay() -> None:
    """A joiner holds a picture of two together."""
    text = "One\n\ttwo \U0001f469\u200d\U0001f4bb"
    assert harmless(text) == text
