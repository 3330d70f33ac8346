"""The claude command line as a model: a real program, with a stand-in's manners and bad manners."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.doubles.claude_program import DEAFEN, SPAWN, ClaudeProgram, complain, leave, wait, write

from wellread.config import GenerationSettings
from wellread.errors import ModelError, ModelTimeoutError
from wellread.models.base import Exchange, LanguageModel, ModelUsage, Prompt, TextDelta, takes_tools
from wellread.models.claude_cli import MAX_ARGUMENT_BYTES
from wellread.models.open_language_model import open_model
from wellread.testing.llm import LanguageModelContract, collect

PROMPT = Prompt(system="Be brief.", user="Which colour has the sky?")
BLUE = [write("The sky is blue [e1].\n")]


def environ_of(tmp_path: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "LC_ALL": "C.UTF-8",
        "HTTPS_PROXY": "http://proxy:3128",
        "ANTHROPIC_API_KEY": "its-own-key",
        "CLAUDE_CONFIG_DIR": "/its/own",
        "OPENAI_API_KEY": "somebody-elses-key",
        "WELLREAD_HOME": "/secret",
        "AWS_SECRET_ACCESS_KEY": "cloud-key",
        "CLAUDECODE": "1",
    }


class Opened:
    """A program and the model that asks it."""

    def __init__(
        self,
        tmp_path: Path,
        steps: Sequence[tuple[str, Any]],
        name: str = "claude-cli",
        **more: Any,
    ) -> None:
        self.folder = tmp_path / "bin"
        self.folder.mkdir(exist_ok=True)
        self.environ = environ_of(tmp_path) | more.pop("environ", {})
        self.program = ClaudeProgram(self.folder, steps)
        self.settings = GenerationSettings.model_validate(
            {"model": name, "command": str(self.program.path), "retries": 0, "timeout": 20} | more
        )
        self.model = self.again()

    def again(self) -> LanguageModel:
        """The model as another process would open it."""
        model = open_model(self.settings, self.environ)
        assert model is not None
        return model

    def ask(self, prompt: Prompt = PROMPT) -> str:
        return asyncio.run(collect(self.model, prompt))[0]

    def failure(self, prompt: Prompt = PROMPT) -> ModelError:
        with pytest.raises(ModelError) as caught:
            self.ask(prompt)
        return caught.value


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        state = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True  # no such folder here; asked again until it is gone
    # A zombie is dead, and it is not for us to ask for its status.
    return state.rpartition(")")[2].split()[0] != "Z"


def dies(pid: int) -> bool:
    deadline = time.monotonic() + 10
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not is_alive(pid)


class TestContract(LanguageModelContract):
    @pytest.fixture
    def model(self, tmp_path: Path) -> LanguageModel:
        return Opened(tmp_path, BLUE).model

    @pytest.fixture
    def failing_model(self, tmp_path: Path) -> LanguageModel:
        return Opened(tmp_path, [complain("no"), leave(1)]).model


def test_the_command_is_the_one_that_is_specified(tmp_path: Path) -> None:
    opened = Opened(tmp_path, BLUE)
    text, pieces = asyncio.run(collect(opened.model, PROMPT))
    assert text == "The sky is blue [e1].\n"
    assert pieces[-1] == ModelUsage(model="claude-cli")
    assert opened.model.identity == "claude-cli"
    (call,) = opened.program.calls
    prompt = f"{PROMPT.system}\n\n{PROMPT.user}"
    assert call.arguments[:4] == ["-p", prompt, "--output-format", "text"]
    # Nothing in the evidence can make it use a tool.
    assert call.arguments[4:] == ["--tools", "", "--strict-mcp-config"]
    assert call.given == ""


def test_it_runs_in_an_empty_folder_that_stays_the_same(tmp_path: Path) -> None:
    opened = Opened(tmp_path, BLUE)
    opened.ask()
    opened.model = opened.again()
    opened.ask()
    first, second = opened.program.calls
    assert first.folder == second.folder != os.getcwd()
    assert first.folder.startswith(str(tmp_path))
    assert first.files == []


def test_it_gets_only_what_it_needs_of_the_environment(tmp_path: Path) -> None:
    opened = Opened(tmp_path, BLUE)
    opened.ask()
    seen = opened.program.calls[0].environ
    allowed = {"PATH", "HOME", "LC_ALL", "HTTPS_PROXY", "ANTHROPIC_API_KEY", "CLAUDE_CONFIG_DIR"}
    # What the shell and Python of the stand-in add by themselves.
    assert set(seen) - {"PWD", "OLDPWD", "SHLVL", "_", "LC_CTYPE"} == allowed


def test_a_prompt_is_never_an_option_nor_read_by_a_shell(tmp_path: Path) -> None:
    opened = Opened(tmp_path, BLUE)
    nasty = "--resume $(touch /tmp/x) `id` ; \"quoted' *\0 ü\udc80\n"
    opened.ask(Prompt(system="-p", user=nasty))
    argument = opened.program.calls[0].arguments[1]
    assert argument == "\n-p\n\n" + nasty.replace("\0", "�").replace("\udc80", "?")


def test_a_long_prompt_goes_by_standard_input(tmp_path: Path) -> None:
    opened = Opened(tmp_path, BLUE)
    user = "äöü " * (MAX_ARGUMENT_BYTES // 4)
    opened.ask(Prompt(system="s", user=user))
    (call,) = opened.program.calls
    assert call.given == f"s\n\n{user}"
    assert call.arguments[:3] == ["-p", "--output-format", "text"]


def test_text_is_passed_on_as_it_comes(tmp_path: Path) -> None:
    async def first(model: LanguageModel) -> TextDelta | ModelUsage:
        stream = model.stream(PROMPT)
        assert isinstance(stream, AsyncGenerator)
        async with aclosing(stream):
            return await anext(stream)

    opened = Opened(tmp_path, [write("The sky"), wait(600), write(" is blue.")])
    assert asyncio.run(first(opened.model)) == TextDelta(text="The sky")
    assert dies(opened.program.calls[0].pid), "a reader that leaves ends the program"


def test_a_conversation_is_begun_once_and_carried_on(tmp_path: Path) -> None:
    opened = Opened(tmp_path, BLUE)
    prompt = Prompt(system="s", user="u", session="5f0c8d0e-aaaa-4bbb-8ccc-0123456789ab")
    assert opened.ask(prompt) == opened.ask(prompt)
    first, second = (call.arguments[4:6] for call in opened.program.calls)
    assert first == ["--session-id", prompt.session]
    assert second == ["--resume", prompt.session]


def test_a_conversation_that_the_program_forgot_is_begun_again(tmp_path: Path) -> None:
    opened = Opened(tmp_path, BLUE)
    prompt = Prompt(system="s", user="u", session="one")
    opened.ask(prompt)
    (opened.folder / "conversations").unlink()
    assert opened.ask(prompt).startswith("The sky")
    ways = [call.arguments[4] for call in opened.program.calls]
    assert ways == ["--session-id", "--resume", "--session-id"]


@pytest.mark.parametrize(
    ("complaint", "says", "retryable"),
    [
        ("Invalid API key · Please run /login", "once by hand and log in", False),
        ("API Error: 529 overloaded_error", "overloaded", True),
        ("error: unknown option '--tools'", "update it", False),
        ("\x1b[31mIt is " + "very " * 200 + "broken\x1b[0m\n", "status 3: It is very very", False),
        ("", "it gave no reason", False),
    ],
)
def test_its_complaint_is_told(tmp_path: Path, complaint: str, says: str, retryable: bool) -> None:
    error = Opened(tmp_path, [complain(complaint), leave(3)]).failure()
    assert says in str(error)
    assert "claude-cli exited with status 3" in str(error)
    assert len(str(error)) < 450
    assert "\x1b" not in str(error)
    assert error.retryable is retryable


def test_a_program_that_hangs_and_is_deaf_is_given_up(tmp_path: Path) -> None:
    opened = Opened(tmp_path, [DEAFEN, write("The"), wait(600)], timeout=1.0)
    error = opened.failure()
    assert isinstance(error, ModelTimeoutError)
    assert "1 s" in str(error)
    assert "generation.timeout" in str(error)
    assert all(dies(call.pid) for call in opened.program.calls)


def test_a_cancelled_task_ends_the_program_and_its_children(tmp_path: Path) -> None:
    opened = Opened(tmp_path, [DEAFEN, SPAWN, write("The"), wait(600)])

    async def cancelled() -> None:
        with anyio.CancelScope() as scope:
            async for _ in opened.model.stream(PROMPT):
                scope.cancel()

    asyncio.run(cancelled())
    assert dies(opened.program.calls[0].pid)
    assert dies(opened.program.child)


def test_a_child_that_keeps_the_output_open_is_killed_at_the_limit(tmp_path: Path) -> None:
    opened = Opened(tmp_path, [SPAWN, write("The sky"), leave(0)], timeout=3.0)
    assert isinstance(opened.failure(), ModelTimeoutError)
    assert dies(opened.program.child)


def test_garbage_becomes_readable_text(tmp_path: Path) -> None:
    umlaut = "ü".encode()
    opened = Opened(
        tmp_path,
        [
            write(b"Bl" + umlaut[:1]),
            wait(0.05),
            write(umlaut[1:] + b"\xff\x00\x07\x1b[1mx\x1b[0m\n"),
        ],
    )
    assert opened.ask() == "Blü�x\n"


def test_a_reply_without_end_is_cut_and_stopped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    opened = Opened(tmp_path, [write("word " * 100_000), wait(600)], max_tokens=100)
    assert opened.ask() == "word " * 200
    assert "too long" in caplog.text
    assert dies(opened.program.calls[0].pid)


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    settings = GenerationSettings(model="claude-cli", command="no-such-program")
    with pytest.raises(ModelError, match=r"generation\.command"):
        open_model(settings, environ_of(tmp_path))


def test_a_conversation_that_goes_on_is_resumed_with_what_is_new_alone(tmp_path: Path) -> None:
    opened = Opened(tmp_path, BLUE)
    assert not takes_tools(opened.model)
    first = Prompt(system="s", user="u", session="run-1")
    looked = Exchange(text="CALL: one", results=("Blue.",), told="Go on.")
    looked_again = Exchange(text="CALL: two", results=("Red.",), told="And now?")
    opened.ask(first)
    opened.ask(replace(first, history=(looked,)))
    opened.model = opened.again()  # another process goes on with it
    opened.ask(replace(first, history=(looked, looked_again)))
    said = [call.arguments[1] for call in opened.program.calls]
    ways = [call.arguments[4] for call in opened.program.calls]
    assert said == ["s\n\nu", "Blue.\n\nGo on.", "Red.\n\nAnd now?"]
    assert ways == ["--session-id", "--resume", "--resume"]
