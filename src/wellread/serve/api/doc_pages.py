"""Writes pages of documentation: ``python -m wellread.serve.api.doc_pages api > docs/api.md``.

``settings`` instead of ``api`` writes ``docs/settings.md``. Tests compare both with what is there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from fastapi import FastAPI

from wellread.config import ALIASES, settings_table
from wellread.serve.api.interface import API_ROUTERS

Schema = Mapping[str, Any]
OURS = ("HTTPValidationError", "ValidationError")  # of the framework; ours is ErrorBody


def settings_page() -> str:
    """The page of settings, as Markdown."""
    lines = [
        "# Settings",
        "",
        "<!-- Written by `python -m wellread.serve.api.doc_pages settings`; a test compares. -->",
        "",
        "Values come from, in falling order of strength: arguments, `WELLREAD_*` environment",
        "variables, the short `QA_*` variables, `wellread.yaml` in the home, the defaults. In",
        "`wellread.yaml` the part before the dot is a section:",
        "",
        "```yaml",
        "qa:",
        "  confidence_threshold: 0.4",
        "```",
        "",
        "`wellread settings` shows the values that are in force; "
        "`wellread settings NAME VALUE` sets one.",
        "",
        "| setting | default | environment variable | what it does |",
        "|---|---|---|---|",
        *(
            f"| `{row.name}` | {_default(row.default, none='(empty)')} "
            f"| `{row.variable}` | {row.help} |"
            for row in settings_table()
        ),
        "",
        "Short variables:",
        "",
        "| variable | setting |",
        "|---|---|",
        *(f"| `{alias}` | `{section}.{name}` |" for alias, (section, name) in ALIASES.items()),
        "",
        "`WELLREAD_HOME` names the folder of the knowledge base (default: `~/.wellread`).",
        "",
    ]
    return "\n".join(lines)


def api_page() -> str:
    """The reference of the HTTP interface, as Markdown."""
    app = FastAPI(title="Wellread", version="any")
    for router in API_ROUTERS:
        app.include_router(router)
    document = app.openapi()
    routes = [
        (f"{method.upper()} {path}", route)
        for path, methods in document["paths"].items()
        for method, route in methods.items()
    ]
    schemas = document["components"]["schemas"]
    return "\n".join(
        [
            "# The HTTP interface: reference",
            "",
            "<!-- Written by `python -m wellread.serve.api.doc_pages api`; a test compares. -->",
            "",
            "Every route, parameter and field. [api-guide.md](api-guide.md) explains them with",
            "examples; a running server has the same at `/openapi.json`.",
            "",
            "| route | what it does |",
            "|---|---|",
            *(f"| `{name}` | {_told(route)} |" for name, route in routes),
            "",
            "# Routes",
            "",
            *(line for name, route in routes for line in _route(name, route)),
            "# Bodies",
            "",
            *(
                line
                for name, schema in sorted(schemas.items())
                if name not in OURS
                for line in _body(name, schema)
            ),
        ]
    )


def _route(name: str, route: Schema) -> list[str]:
    lines = [f"## `{name}`", "", _told(route, whole=True), ""]
    if given := route.get("parameters"):
        lines += ["| parameter | in | values | default | meaning |", "|---|---|---|---|---|"]
        for each in given:
            schema = each["schema"]
            default = "required" if each["required"] else _default(schema.get("default"))
            cells = (each["in"], _type(schema), default, each.get("description", ""))
            lines.append(f"| `{each['name']}` | {' | '.join(cells)} |")
        lines.append("")
    if "requestBody" in route:
        lines += [f"Takes: {_content(route['requestBody'])}", ""]
    for status, reply in route["responses"].items():
        if status == "422":  # the framework's word for what is a 400 here
            continue
        told = reply["description"] if status != "200" else "the reply"
        lines.append(f"- {status}: {told}, {_content(reply)}")
    return [*lines, ""]


def _body(name: str, schema: Schema) -> list[str]:
    lines = [f"## {name}", "", _told(schema, whole=True), ""]
    if "properties" not in schema:
        return [*lines, _type(schema), ""]
    required = schema.get("required", ())
    lines += ["| field | values | default | meaning |", "|---|---|---|---|"]
    for field, each in schema["properties"].items():
        default = "" if field in required else _default(each.get("default"))
        lines.append(f"| `{field}` | {_type(each)} | {default} | {each.get('description', '')} |")
    return [*lines, ""]


def _content(holder: Schema) -> str:
    kinds = holder.get("content", {})
    found = next((each["schema"] for each in kinds.values() if each.get("schema")), None)
    return _type(found) if found else "no JSON"


def _type(schema: Schema) -> str:
    """What values a field takes, in words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"])
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{each}`" for each in schema.get("enum", [schema.get("const")]))
    kind = schema.get("type", "any")
    if kind == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"map to {_type(schema['additionalProperties'])}"
    bounds = [
        f"{word} {schema[key]}"
        for key, word in (("minimum", "from"), ("maximum", "to"), ("format", "as"))
        if key in schema
    ]
    return " ".join([kind, *bounds])


def _told(thing: Schema, *, whole: bool = False) -> str:
    """The first sentence of a description, or its first paragraph, on one line."""
    paragraph = str(thing.get("description", "")).partition("\n\n")[0]
    text = " ".join(paragraph.replace("``", "`").split())
    return text if whole else text.partition(". ")[0].rstrip(".")


def _default(value: object, *, none: str = "null") -> str:
    if value is None:
        return none
    if value in ("", (), []):
        return "(empty)"
    if isinstance(value, tuple | list):
        return ", ".join(f"`{item}`" for item in value)
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


PAGES: Mapping[str, Callable[[], str]] = {"api": api_page, "settings": settings_page}

if __name__ == "__main__":
    sys.stdout.write(PAGES[sys.argv[1]]())
