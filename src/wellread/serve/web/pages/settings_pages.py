"""Routes of the settings page, which sets the language model up, and of the page on health."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Mapping
from functools import partial
from importlib.metadata import version
from typing import Any, NamedTuple

from anyio import to_thread
from fastapi import Request
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import FormData

from wellread.config import SETTINGS_FILE, Settings, settings_table, without_password
from wellread.errors import RequestError, WellreadError
from wellread.ingest.integrity.verify import VerifyReport, verify
from wellread.kb import KnowledgeBase
from wellread.kb.home_catalogue import BACKUPS_FOLDER
from wellread.kb.seen_by import base_of
from wellread.models.base import Prompt, complete_reply
from wellread.models.claude_cli import CLAUDE_CLI
from wellread.models.open_language_model import (
    PROVIDERS,
    Endpoint,
    address_of,
    command_model,
    endpoint_of,
    keep_key,
    kept_keys,
    models_of,
)
from wellread.serve.error_shapes import Problem, ProblemError, problem_of
from wellread.serve.features.figures import check_health
from wellread.serve.features.home_and_jobs import format_size, holdings_body
from wellread.serve.guards.route_rules import WholeKb
from wellread.serve.web.rendering import page_router, render_page
from wellread.settings_file import load_settings, sources_of_settings, write_setting
from wellread.store.recovery.copies import copies_in

router = page_router("admin")
TEST = "test"  # the purpose of the call that tries a model
TEST_PROMPT = Prompt(
    system="You are tried out by the person who sets you up.",
    user="Say in one short sentence which model you are.",
)
in_thread = to_thread.run_sync


class Preset(NamedTuple):
    """A way to a language model; ``prefix``: what its models' names begin with in the settings."""

    name: str
    prefix: str = ""
    address: str = ""
    example: str = ""
    help: str = ""


PRESETS: Mapping[str, Preset] = {
    "ollama": Preset("Ollama", "", "http://localhost:11434/v1", "llama3.2", "on this machine"),
    "lmstudio": Preset("LM Studio", "", "http://localhost:1234/v1", "", "on this machine"),
    "vllm": Preset("vLLM", "", "http://localhost:8000/v1", "", "on a server of yours"),
    "openai": Preset("OpenAI", "openai:", "", "gpt-4o-mini", "needs a key"),
    "anthropic": Preset("Anthropic", "anthropic:", "", "claude-sonnet-4-5", "needs a key"),
    "google": Preset("Google", "google:", "", "gemini-2.5-flash", "needs a key"),
    "claude": Preset("Claude command", CLAUDE_CLI, "", "", "uses your subscription"),
    "other": Preset("Another server", "", "", "", "compatible with OpenAI's"),
    "none": Preset("No model", "", "", "", "answers quote the sources"),
}
# The fields of the form, with the section of the setting of the same name.
FIELDS = {
    "model": "generation",
    "fallback_model": "generation",
    "base_url": "generation",
    "daily": "budget",
    "monthly": "budget",
}


@router.get("/settings")
def settings_page(
    kb: WholeKb, request: Request, preset: str = "", find: str = "", saved: bool = False
) -> Response:
    """The language model to set up, and all settings; ``find``: only those with these words."""
    typed = _typed_of(kb.settings)
    if preset in PRESETS and preset != typed["preset"]:
        address = PRESETS[preset].address
        typed |= {"preset": preset, "base_url": address, "model": "", "fallback_model": ""}
    return _page(kb, request, typed, find=find, saved=saved)


@router.post("/settings")
async def save(kb: WholeKb, request: Request) -> Response:
    """Save the language model, or show what models its server has.

    A key that was typed is kept at once, for the address beside it alone.
    """
    return await in_thread(_save, kb, request, await request.form())


@router.post("/settings/test")
async def try_model(kb: WholeKb, request: Request) -> Response:
    """Call the language model once, and show its answer with time and price."""
    began = time.monotonic()
    tried: dict[str, Any] = {}
    try:
        model = await in_thread(kb.models.recorded, "model", TEST)
        if model is None:
            raise RequestError("no language model is set up", hint="choose one and save it first")
        text, usage = await complete_reply(model, TEST_PROMPT)
        priced = usage.cost or model.cost(usage.input_tokens, usage.output_tokens).known
        seconds = time.monotonic() - began
        tried = {"text": text, "usage": usage, "priced": priced, "seconds": seconds}
    except WellreadError as error:
        tried = {"problem": problem_of(error)}
    return await in_thread(partial(_page, kb, request, _typed_of(kb.settings), tried=tried))


def _save(kb: KnowledgeBase, request: Request, form: FormData) -> Response:
    typed = {name: str(form.get(name, "")).strip() for name in ("preset", *FIELDS)}
    asks_for_models = form.get("action") == "models"
    names: list[str] = []
    try:
        wanted = _wanted(kb, typed, unnamed=asks_for_models)
        settings = load_settings(kb.home, wanted)
        endpoint = _endpoint(kb, settings, str(form.get("key", "")), forget="forget" in form)
        if not asks_for_models:
            request.scope["state"]["changed"] = " ".join(_write(kb, wanted))
            base_of(kb).use_models_of(load_settings(kb.home))
            return RedirectResponse("/settings?saved=true", status_code=303)
        names = models_of(endpoint) if endpoint else []
    except WellreadError as error:
        return _page(kb, request, typed, problem=problem_of(error))
    return _page(kb, request, typed, names=names)


def _typed_of(settings: Settings) -> dict[str, str]:
    """What the form shows for the settings in use."""
    values = settings.model_dump()
    typed = {name: _shown(values[section][name]) for name, section in FIELDS.items()}
    preset = "other" if typed["model"] else "none"
    for name, one in PRESETS.items():
        is_named = one.prefix and typed["model"].startswith(one.prefix)
        if is_named or (typed["model"] and one.address and one.address == typed["base_url"]):
            preset = name
    for name in ("model", "fallback_model"):
        typed[name] = typed[name].removeprefix(PRESETS[preset].prefix).removeprefix(":")
    return {**typed, "preset": preset}


def _wanted(
    kb: KnowledgeBase, typed: Mapping[str, str], *, unnamed: bool
) -> dict[str, dict[str, Any]]:
    """The settings that were typed, by section, without those that the environment sets.

    Args:
        unnamed: whether a model's name may be missing.
    """
    values: dict[str, Any] = dict.fromkeys(FIELDS, "")
    if typed["preset"] != "none":
        preset = PRESETS.get(typed["preset"], PRESETS["other"])
        values["model"] = _full_name(preset, typed["model"] or ("any" if unnamed else ""))
        if not values["model"]:
            hint = "“List its models” asks the server for them"
            raise RequestError("no model is named", hint=hint)
        if typed["fallback_model"]:
            values["fallback_model"] = _full_name(preset, typed["fallback_model"])
        values["base_url"] = "" if preset.prefix == CLAUDE_CLI else typed["base_url"]
    values |= {name: _amount(typed[name]) for name in ("daily", "monthly")}
    held = _held(kb)
    wanted: dict[str, dict[str, Any]] = {section: {} for section in FIELDS.values()}
    for name, section in FIELDS.items():
        if name not in held:
            wanted[section][name] = values[name]
    return wanted


def _held(kb: KnowledgeBase) -> dict[str, str]:
    """The fields that the environment sets, with the variable of each."""
    sources = sources_of_settings(kb.home)
    of_fields = ((name, sources.get(f"{part}.{name}", "")) for name, part in FIELDS.items())
    return {name: source for name, source in of_fields if source not in ("", SETTINGS_FILE)}


def _full_name(preset: Preset, name: str) -> str:
    """The name of a model in the settings."""
    if preset.prefix == CLAUDE_CLI:
        return f"{CLAUDE_CLI}:{name}" if name else CLAUDE_CLI
    has_provider = any(name.startswith(f"{provider.name}:") for provider in PROVIDERS)
    return name if has_provider or not name else f"{preset.prefix}{name}"


def _amount(text: str) -> float | None:
    """An amount of dollars; None for an empty field."""
    if not text:
        return None
    if not re.fullmatch(r"\d{1,9}(\.\d{1,6})?", text):
        raise RequestError(f"{text!r} is not an amount of dollars", hint="write it like 2.50")
    return float(text)


def _endpoint(kb: KnowledgeBase, settings: Settings, key: str, *, forget: bool) -> Endpoint | None:
    """The server of the model, with its key kept or forgotten; None if it is called otherwise."""
    generation = settings.generation
    if not generation.model or command_model(generation.model) is not None:
        return None
    _, url, _ = address_of(generation, generation.model)
    if key.strip() or forget:
        keep_key(kb.home, url, key)
    return endpoint_of(generation, os.environ, keys=kept_keys(kb.home))


def _write(kb: KnowledgeBase, wanted: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Write the settings that changed into the home's file, and return their names."""
    before = load_settings(kb.home).model_dump()
    changed = {
        f"{section}.{name}": value
        for section, values in wanted.items()
        for name, value in values.items()
        if before[section][name] != value
    }
    for setting, value in changed.items():
        write_setting(kb.home, setting, json.dumps(value, ensure_ascii=False))
    return list(changed)


def _page(
    kb: KnowledgeBase,
    request: Request,
    typed: Mapping[str, str],
    *,
    find: str = "",
    problem: Problem | None = None,
    **more: Any,
) -> Response:
    sources, current = sources_of_settings(kb.home), kb.settings.model_dump()
    words = find.lower().split()
    rows = []
    for row in settings_table():
        section, _, name = row.name.partition(".")
        if all(word in f"{row.name} {row.help}".lower() for word in words):
            rows.append((row, _shown(current[section][name]), sources.get(row.name, "")))
    values = {
        "typed": typed,
        "preset": PRESETS.get(typed["preset"], PRESETS["other"]),
        "presets": PRESETS,
        "key": _key_state(kb, typed),
        "held": _held(kb),
        "own": SETTINGS_FILE,
        "find": find,
        "rows": rows,
        **{"names": (), "tried": None, "saved": False, **more},
    }
    return render_page(request, "settings.html", values, problem=problem)


def _shown(value: object) -> str:
    """A value for people, without a password in an address."""
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return "" if value is None else without_password(text)


def _key_state(kb: KnowledgeBase, typed: Mapping[str, str]) -> str:
    """Where the key of the server in the form comes from, in words; empty without one."""
    try:
        settings = load_settings(kb.home, _wanted(kb, typed, unnamed=True)).generation
        endpoint = endpoint_of(settings, os.environ, keys=kept_keys(kb.home))
    except WellreadError:
        return ""
    if not endpoint.key_variable:
        return f"A key for {endpoint.host} is kept."
    if os.environ.get(endpoint.key_variable):
        return f"The environment variable {endpoint.key_variable} has a key."
    return ""


@router.get("/health")
def health_page(kb: WholeKb, request: Request) -> Response:
    """Whether everything works, in words."""
    return _health(kb, request)


@router.post("/health")
def examine(kb: WholeKb, request: Request) -> Response:
    """Compare all stores row by row, and show what does not match."""
    return _health(kb, request, verify(base_of(kb)))


def _health(kb: KnowledgeBase, request: Request, report: VerifyReport | None = None) -> Response:
    problem = ""
    try:
        check_health(kb, base_of(kb), with_counts=True)
    except ProblemError as error:
        problem = str(error.__cause__ or error)
    holdings = holdings_body(kb)
    values = {
        "version": version("wellread"),
        "wrong": problem,
        "holdings": holdings,
        "size": format_size(holdings.bytes),
        "reindex_needed": not problem and kb.reindex_needed,
        "copies": copies_in(kb.home / BACKUPS_FOLDER),
        "job": next(iter(kb.catalogue.jobs.newest(1)), None),
        "model": kb.models.names().get("model", ""),
        "failures": kb.ledger.failures,
        "budget": kb.ledger.standing().summary,
        "report": report,
    }
    return render_page(request, "health.html", values)
