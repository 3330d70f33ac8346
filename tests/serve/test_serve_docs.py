"""The documentation of the serve layer is what the code says."""

from __future__ import annotations

import json
import re
import shlex
from importlib.resources import files
from pathlib import Path

import httpx
import pytest
from tests.serve.conftest import schema_of

from wellread.ingest.run import add
from wellread.kb import open_kb
from wellread.library.recordings import Transcript
from wellread.library.searches import Surroundings
from wellread.serve.features.answer_forms import QueryResponse
from wellread.serve.features.answering import AskResponse
from wellread.serve.features.documents_found import DocumentsBody, RecordingsBody, WholeDocumentBody
from wellread.serve.features.entities_shown import EntitiesBody, EntityBody
from wellread.serve.features.feature import ErrorBody
from wellread.serve.features.figures import HealthBody
from wellread.serve.features.home_and_jobs import JobDetailBody, JobsBody
from wellread.serve.features.material_found import ResultsBody
from wellread.serve.features.timelines_shown import StoryListBody, TimelineBody, TopicsBody
from wellread.serve.http.app import create_app
from wellread.serve.http.ask_api import AskRequest
from wellread.serve.settings_page import settings_page
from wellread.testing.embedding import ReadableEmbedder

DOCS = Path(__file__).parents[2] / "docs"


def names_of(kind: type) -> set[str]:
    fields = schema_of(kind).model_fields
    return {field.alias or name for name, field in fields.items()}


def examples(name: str) -> list[str]:
    """JSON blocks of ``docs/api-guide.md`` under a comment that names their schema."""
    text = (DOCS / "api-guide.md").read_text(encoding="utf-8")
    return re.findall(rf"<!-- {name} -->\n+```json\n(.*?)```", text, re.DOTALL)


def test_the_page_of_settings_is_what_the_program_writes() -> None:
    assert (DOCS / "settings.md").read_text(encoding="utf-8") == settings_page()


@pytest.mark.parametrize(
    "model", [AskRequest, AskResponse, ErrorBody, HealthBody, JobsBody, JobDetailBody]
)
def test_the_examples_fit_their_schemas(model: type) -> None:
    found = examples(model.__name__)
    assert found
    for example in found:
        body = json.loads(example)
        assert set(body) <= names_of(model)
        assert schema_of(model).model_validate(body)


def test_every_error_name_and_status_is_documented() -> None:
    from wellread.serve import error_shapes as problems

    text = (DOCS / "api-guide.md").read_text(encoding="utf-8")
    for _, name, status in problems._BY_CLASS:
        assert f"| {status.value} | `{name}` |" in text
    for status, name in problems._STATUS_NAMES.items():
        assert f"| {status.value} | `{name}` |" in text


# --- the archive -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        QueryResponse,
        EntitiesBody,
        EntityBody,
        StoryListBody,
        ResultsBody,
        Surroundings,
        DocumentsBody,
        WholeDocumentBody,
        RecordingsBody,
        Transcript,
        TopicsBody,
        TimelineBody,
    ],
)
def test_the_examples_of_the_archive_fit_their_schemas(model: type) -> None:
    (example,) = examples(model.__name__)
    body = json.loads(example)
    assert schema_of(model).model_validate(body)
    assert set(body) == names_of(model)


def commands() -> list[list[str]]:
    """Every ``curl`` of the section on the archive, in words."""
    text = (DOCS / "api-guide.md").read_text(encoding="utf-8")
    section = text.partition("## The archive interface")[2].partition("\n## ")[0]
    blocks = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [shlex.split(line) for line in lines if line.startswith("curl ")]


async def test_the_commands_of_the_archive_work_as_they_are_printed(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = Path(str(files("wellread.sample")))
    given = [str(folder / name) for name in ("commons", "news", "papers", "transcripts")]
    home = tmp_path_factory.mktemp("archive") / "home"
    with open_kb(home, embedder=ReadableEmbedder()) as kb:
        add(kb, given, collection="halden-sound")
        transport = httpx.ASGITransport(create_app(kb))
        async with httpx.AsyncClient(transport=transport) as client:
            found = commands()
            assert len(found) == 13
            for curl, silent, *words in found:
                assert (curl, silent) == ("curl", "-s")
                address = next(word for word in words if word.startswith("http://127.0.0.1:8756/"))
                data = words[words.index("-d") + 1] if "-d" in words else None
                head = {"content-type": "application/json"}
                response = await client.request(
                    "GET" if data is None else "POST", address, headers=head, content=data
                )
                assert response.status_code == 200, (address, response.text)
                body = response.json()
                assert any(isinstance(one, list) and one for one in body.values()), address
