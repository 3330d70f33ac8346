from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from wellread.ingest.run import add
from wellread.kb import open_kb
from wellread.serve.cli import app
from wellread.testing.embedding import ReadableEmbedder

NEWS = [
    (
        "Ferry Osprey breaks down",
        "2026-01-05",
        "The ferry Osprey broke down off the harbour on Monday. A tug towed the ferry home with "
        "ninety passengers, and nobody was hurt on board.",
    ),
    (
        "Bakery wins prize for rye bread",
        "2026-02-10",
        "The village bakery won the national prize for its rye bread. The bakers use caraway seeds "
        "from the school garden in the bread, they said.",
    ),
    (
        "Ferry Osprey back in service",
        "2026-03-20",
        "The ferry Osprey is back in service with a new engine. Passengers of the ferry who lost a "
        "day get their fare back at the harbour office.",
    ),
]


def run(runner: CliRunner, *words: str | Path) -> tuple[int, str, str]:
    result = runner.invoke(app, [str(word) for word in words])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def told(runner: CliRunner, *words: str) -> Any:
    code, out, _ = run(runner, "show", "story", *words, "--json")
    assert code == 0
    return json.loads(out)


@pytest.fixture(scope="module")
def news_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the three articles, in the collection ``news``."""
    root = tmp_path_factory.mktemp("news")
    lines = [
        {
            "title": title,
            "published_at": day,
            "text": text,
            "url": f"https://herald.example/{number}",
        }
        for number, (title, day, text) in enumerate(NEWS)
    ]
    file = root / "news.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with open_kb(root / "home", embedder=ReadableEmbedder()) as kb:
        add(kb, [str(file)], collection="news")
    return root / "home"


@pytest.fixture
def news(news_home: Path, home: Path) -> None:
    """Put the home with the articles where commands look for it."""
    shutil.copytree(news_home, home)


@pytest.mark.usefixtures("news")
def test_the_list_shows_each_story_with_its_news_over_time(runner: CliRunner) -> None:
    code, out, _ = run(runner, "show", "story")
    assert code == 0
    ferry = next(line for line in out.splitlines() if "Ferry Osprey" in line)
    assert re.match(r"sty_[0-9a-f]{8} +2 +1 +2026-03-20 +Ferry Osprey", ferry)
    bread = next(line for line in out.splitlines() if "Bakery" in line)
    assert re.match(r"sty_[0-9a-f]{8} +1 +1 +2026-02-10 +Bakery wins", bread)
    assert out.index("Ferry Osprey") < out.index("Bakery")


@pytest.mark.usefixtures("news")
def test_the_list_as_json(runner: CliRunner) -> None:
    ferry, bread = told(runner)["items"]
    assert (ferry["items"], ferry["sources"], ferry["collection"]) == (2, 1, "news")
    assert ferry["firstAt"] == "2026-01-05T00:00:00Z"
    assert all(one["text"] in NEWS[0][2] + NEWS[2][2] for one in ferry["summary"])
    assert bread["title"] == "Bakery wins prize for rye bread"


@pytest.mark.usefixtures("news")
def test_the_list_can_be_limited(runner: CliRunner) -> None:
    assert len(told(runner, "--limit", "1")["items"]) == 1
    (bread,) = told(runner, "--from", "2026-02", "--to", "2026-02")["items"]
    assert bread["title"].startswith("Bakery")
    assert told(runner, "--from", "2027")["items"] == []
    assert len(told(runner, "-c", "news")["items"]) == 2


@pytest.mark.usefixtures("news")
def test_a_question_finds_its_story_with_the_best_news_first(runner: CliRunner) -> None:
    found = told(runner, "--query", "new engine of the ferry Osprey")
    (ferry,) = found["items"]
    assert ferry["title"].startswith("Ferry Osprey")
    assert ferry["score"] > 0
    code, out, _ = run(runner, "show", "story", "-q", "new engine of the ferry Osprey")
    assert code == 0
    assert "Ferry Osprey" in out
    assert "rye" not in out


@pytest.mark.usefixtures("news")
def test_show_tells_one_story(runner: CliRunner) -> None:
    known = told(runner)["items"][0]["id"]
    code, out, _ = run(runner, "show", "story", known[:10])
    assert code == 0
    assert "news: 2\nsources: 1\nfirst: 2026-01-05\nlast: 2026-03-20" in out
    assert re.search(r"^2026-01-05 +1 +█+ *$", out, re.MULTILINE)  # the week of the first news
    assert "2026-03-20  Ferry Osprey back in service" in out
    shown = told(runner, known)
    assert shown["unit"] == "week"
    assert [period["count"] for period in shown["periods"]][::10] == [1, 1]
    assert [item["title"] for item in shown["news"]] == [NEWS[0][0], NEWS[2][0]]
    assert shown["news"][0]["url"] == "https://herald.example/0"
    assert [item["title"] for item in told(runner, known, "--limit", "1")["news"]] == [NEWS[2][0]]


@pytest.mark.usefixtures("news")
def test_show_needs_an_id_that_names_one_story(runner: CliRunner) -> None:
    code, _, err = run(runner, "show", "story", "sty_")
    assert code == 1
    assert "several stories" in err
    code, _, err = run(runner, "show", "story", "sty_none")
    assert code == 1
    assert "no story" in err


@pytest.mark.usefixtures("news")
def test_what_cannot_be_asked_is_refused(runner: CliRunner) -> None:
    for words in (["-c", "sport"], ["-c", "sport", "-q", "ferry"]):
        code, _, err = run(runner, "show", "story", *words)
        assert code == 1
        assert "there is no collection named 'sport'" in err
    code, _, err = run(runner, "show", "story", "--from", "2027", "--to", "2026")
    assert code == 1
    assert "is empty" in err


def test_a_home_without_news_says_what_stories_are_made_of(
    runner: CliRunner, material: Path
) -> None:
    assert run(runner, "add", material)[0] == 0
    code, out, _ = run(runner, "show", "story")
    assert code == 0
    assert "articles" in out
    assert told(runner)["items"] == []
