"""The files of ``deploy/``: read as what they are; the backup and its restore are run."""

from __future__ import annotations

import configparser
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from sqlalchemy import make_url

from wellread.config import settings_table
from wellread.settings_file import load_settings
from wellread.store.base import ServiceAddress
from wellread.store.index.opensearch.cluster import read_address

DEPLOY = Path(__file__).parents[2] / "deploy"
WHOLE = "WELLREAD_DEPLOY"  # with it the backup is run, which starts the program six times


def compose() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    return read


def test_the_variables_that_the_files_set_are_settings() -> None:
    known = {row.variable for row in settings_table()} | {"WELLREAD_HOME"}
    texts = [path.read_text(encoding="utf-8") for path in sorted(DEPLOY.iterdir())]
    named = {one for text in texts for one in re.findall(r"\bWELLREAD_[A-Z_]+", text)}
    assert named <= known
    assert named >= {"WELLREAD_CATALOGUE_URL", "WELLREAD_INDEX_URL"}


def test_what_others_reach_is_the_proxy_alone() -> None:
    services = compose()["services"]
    assert set(services) == {"wellread", "postgres", "opensearch"}
    assert services["wellread"]["ports"] == ["127.0.0.1:8756:8756"]
    assert all("ports" not in services[name] for name in ("postgres", "opensearch"))


def test_the_settings_of_the_services_are_taken() -> None:
    given = compose()["services"]["wellread"]["environment"]
    filled = {name: re.sub(r"\$\{\w+:\?\}", "secret", value) for name, value in given.items()}
    settings = load_settings(DEPLOY, environ=filled)
    address = read_address(ServiceAddress(url=settings.index.url, base="b1"))
    assert address.hosts == ("http://opensearch:9200",)
    assert make_url(settings.catalogue.url).host == "postgres"
    assert settings.serve.names == ("wellread.example",)


def test_no_password_stands_in_the_files() -> None:
    for path in sorted(DEPLOY.iterdir()):
        text = path.read_text(encoding="utf-8")
        for value in re.findall(r"PASSWORD[\"']?\s*[:=](?!\?)\s*(\S+)", text):
            assert value.strip("\"'{},").startswith(("${", "POSTGRES", "$$")), (path.name, value)


@pytest.mark.parametrize("name", ["wellread.service", "wellread@.service"])
def test_the_units_stop_the_server_gracefully_and_shut_it_in(name: str) -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.read(DEPLOY / name)
    assert " serve --host 127.0.0.1 --port " in unit["Service"]["ExecStart"]
    assert int(unit["Service"]["TimeoutStopSec"]) > 5
    assert unit["Service"]["ProtectSystem"] == "strict"


def test_the_proxy_sets_the_headers_that_are_believed() -> None:
    text = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    for said in (
        "proxy_set_header Host $host;",
        "proxy_set_header X-Forwarded-For $remote_addr;",
        "proxy_set_header X-Forwarded-Proto $scheme;",
        "proxy_buffering off;",
    ):
        assert said in text
    assert "proxy_add_x_forwarded_for" not in text  # would pass on what a client says
    settings = load_settings(DEPLOY, environ={})
    waits = float(re.findall(r"proxy_read_timeout (\d+)s", text)[0])
    assert waits > settings.serve.research_seconds


@pytest.mark.skipif(not os.environ.get(WHOLE), reason=f"set {WHOLE}=1, or 'make deploy-check'")
def test_a_backup_is_proved_and_restored(tmp_path: Path) -> None:
    program = f"{sys.executable} -m wellread.serve.cli"
    environ = {**os.environ, "WELLREAD": program}
    note = tmp_path / "note.md"
    note.write_text("# Pier\n\nThe pier was built in 1899.\n", encoding="utf-8")

    def run(*words: str) -> str:
        done = subprocess.run(words, env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    home, kept = str(tmp_path / "home"), tmp_path / "kept"
    run(*program.split(), "--home", home, "add", str(note))
    script = str(DEPLOY / "backup.sh")
    kept.mkdir()
    for day in range(1, 4):
        (kept / f"wellread-2020010{day}T000000Z.tar.gz").write_bytes(b"old")
    archive = run("sh", script, "backup", home, str(kept), "2")
    assert sorted(path.name for path in kept.iterdir()) == [
        "wellread-20200103T000000Z.tar.gz",
        Path(archive).name,
    ]
    assert Path(archive).stat().st_mode & 0o077 == 0
    again = run("sh", script, "restore", archive, str(tmp_path / "again"))
    found = run(*program.split(), "--home", again, "--json", "search", "pier built")
    assert "1899" in found
    broken = kept / "broken.tar.gz"
    broken.write_bytes(Path(archive).read_bytes()[:200])
    words = ["sh", script, "restore", str(broken), str(tmp_path / "third")]
    assert subprocess.run(words, env=environ, capture_output=True, check=False).returncode
