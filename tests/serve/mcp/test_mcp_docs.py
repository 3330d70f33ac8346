"""What docs/programs.md shows is what there is; its program runs."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

from tests.conftest import PlaceModel
from tests.doubles import forked
from tests.doubles.one_thread import ONE_THREAD

from wellread.config import Settings
from wellread.ingest.run import add
from wellread.kb import open_kb
from wellread.serve.cli.team_cli import app
from wellread.serve.mcp import mcp_server  # noqa: F401 - puts all tools on the list
from wellread.serve.mcp.tool_calls import TOOLS

PAGE = (Path(__file__).parents[3] / "docs" / "programs.md").read_text(encoding="utf-8")
PAGE = PAGE.partition("## The Model Context Protocol")[2].partition("\n## ")[0]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_every_tool_is_named_and_no_other() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert rows == list(TOOLS)


def test_the_settings_of_clients_start_what_there_is() -> None:
    assert app.registered_commands
    found = [json.loads(block) for block in blocks("json")]
    assert len(found) == 5
    for settings in found:
        (servers,) = settings.values()
        server = servers["wellread"]
        if "url" in server:
            port = Settings().serve.port
            assert server["url"] == f"http://127.0.0.1:{port}/mcp"
        else:
            assert server["command"].endswith("/wellread")
            assert server["args"][0] == "mcp"
            assert {word for word in server["args"] if word[0] == "-"} <= {"--home", "--topic"}


def test_the_program_on_the_page_runs(tmp_path: Path, town: Path, place_model: PlaceModel) -> None:
    (program,) = blocks("python")
    place_model(tmp_path / "home")
    environment = {**os.environ, **ONE_THREAD, "WELLREAD_HOME": str(tmp_path / "home")}
    with open_kb(tmp_path / "home") as kb:
        add(kb, [str(town)])
    here = f'command={sys.executable!r}, args=["-m", "wellread.serve.cli", "mcp"], env=os.environ'
    program = program.replace('command="wellread", args=["mcp"]', here)
    asked = "What does the mason ask for the chimney?"  # of the sample, which is another home
    assert asked in program
    program = program.replace(asked, "What did the ferry Osprey cost?")
    done = forked.run(f"import os\n{program}", env=environment)
    assert done.returncode == 0, done.stderr
    assert "bought for 2.6 million euros in 2021." in done.stdout
    assert "The ferry § The ferry quoted" in done.stdout
    assert "» The ferry Osprey was bought for 2.6 million euros in 2021." in done.stdout
