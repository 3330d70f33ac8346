"""docs/programs.md says what the code does, and its example runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.serve.openai.conftest import listening

from wellread.ingest.run import add
from wellread.kb import open_kb
from wellread.serve.http.chat_completions import CompletionRequest
from wellread.testing.embedding import ReadableEmbedder

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "programs.md").read_text(encoding="utf-8")
PAGE = PAGE.partition("## Programs for OpenAI's models")[2]


def test_the_example_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as kb:
        add(kb, [str(ROOT / "examples" / "material")])
        with listening(kb) as address:
            exec(code.replace("http://127.0.0.1:8756", address), {})
    said = capsys.readouterr().out
    assert "The mason asks for 2,300 euros." in said.partition("[\\[1\\]](")[0]
    assert f"[\\[1\\]]({address}/view/" in said
    assert "quoted [1]" in said
    assert "1,500 euros" in said


def test_every_field_that_is_read_is_named() -> None:
    table = PAGE.partition("## Fields of the request")[2].partition("\n### ")[0]
    assert {name for name in CompletionRequest.model_fields if f"`{name}" not in table} == set()
