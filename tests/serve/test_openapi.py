"""The application keeps what ``/openapi.json`` promises of it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from wellread.kb import open_kb
from wellread.serve.http.app import create_app
from wellread.testing.embedding import ReadableEmbedder

EXAMPLES = 4  # requests to each route
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.fixture
def described(home: Path, filled_home: Path) -> Any:
    """The description, as schemathesis reads it from the application."""
    shutil.copytree(filled_home, home)
    own_name = {"serve": {"names": ["testserver", "localhost"]}}
    with open_kb(home, overrides=own_name, embedder=ReadableEmbedder()) as kb:
        yield schemathesis.openapi.from_asgi("/openapi.json", create_app(kb))


def test_what_only_reads_answers_as_it_is_described(described: Any) -> None:
    operations = [found.ok() for found in described.get_all_operations()]
    reading = [operation for operation in operations if operation.method == "get"]
    assert len(reading) > 30
    for operation in reading:

        @hypothesis.given(case=operation.as_strategy())
        @hypothesis.settings(
            max_examples=EXAMPLES,
            derandomize=True,
            deadline=None,
            database=None,
            phases=[hypothesis.Phase.generate],
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        def as_described(case: Any) -> None:
            case.validate_response(case.call(), checks=CHECKS)

        as_described()


def test_every_operation_tells_its_errors_and_how_to_sign_in(described: Any) -> None:
    document = described.raw_schema
    assert document["servers"] == [{"url": "/", "description": "This server"}]
    assert {*document["components"]["securitySchemes"]} == {"key", "session"}
    assert document["security"] == [{}, {"key": []}, {"session": []}]
    expected = {"400", "401", "403", "404", "413", "421", "429", "4XX", "5XX"}
    for path, methods in document["paths"].items():
        body = "OpenAIErrorBody" if path.startswith("/v1/") else "ErrorBody"
        for method, operation in methods.items():
            replies = operation["responses"]
            assert expected <= set(replies), (method, path)
            assert "422" not in replies, (method, path)
            for status in expected:
                schema = replies[status]["content"]["application/json"]["schema"]
                assert schema["$ref"].endswith(f"/{body}"), (method, path)
