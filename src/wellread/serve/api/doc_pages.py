"""Generates the API reference (page ``/docs``) and the settings page (``docs/settings.md``).

``python -m wellread.serve.api.doc_pages > docs/settings.md``; a test compares the two.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from wellread.config import ALIASES, settings_table

Schema = Mapping[str, Any]
Words = tuple[tuple[str, str], ...]  # each with the name of the body that it links to
_OR: Words = ((" or ", ""),)
FRAMEWORK_SCHEMAS = ("HTTPValidationError", "ValidationError")  # of FastAPI; ours is ErrorBody


def settings_page() -> str:
    """Return the settings page as Markdown."""
    lines = [
        "# Settings",
        "",
        "<!-- Written by `python -m wellread.serve.api.doc_pages`; a test compares. -->",
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
            f"| `{row.name}` | {_shown_default(row.default, none='(empty)')} "
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


def reference(document: Schema) -> Schema:
    """Return the routes and bodies of an OpenAPI document for the template of ``/docs``."""
    return {
        "routes": [
            _route(f"{method.upper()} {path}", route)
            for path, methods in document["paths"].items()
            for method, route in methods.items()
        ],
        "bodies": [
            _body(name, schema)
            for name, schema in sorted(document["components"]["schemas"].items())
            if name not in FRAMEWORK_SCHEMAS
        ],
    }


def _route(name: str, route: Schema) -> Schema:
    replies = route["responses"].items()
    return {
        "name": name,
        "told": _summary(route),
        "given": [
            {
                "name": each["name"],
                "place": each["in"],
                "values": _values(each["schema"]),
                "default": "required" if each["required"] else _default(each["schema"]),
                "told": each.get("description", ""),
            }
            for each in route.get("parameters", ())
        ],
        "takes": _content(route["requestBody"]) if "requestBody" in route else (),
        # FastAPI documents 422 where we answer 400.
        "replies": [
            {"status": status, "told": reply["description"], "body": _content(reply)}
            for status, reply in replies
            if status != "422"
        ],
    }


def _body(name: str, schema: Schema) -> Schema:
    required = schema.get("required", ())
    fields = [
        {
            "name": field,
            "values": _values(each),
            "default": "" if field in required else _default(each),
            "told": each.get("description", ""),
        }
        for field, each in schema.get("properties", {}).items()
    ]
    return {"name": name, "told": _summary(schema), "fields": fields, "values": _values(schema)}


def _content(holder: Schema) -> Words:
    kinds = holder.get("content", {})
    schema = next((each["schema"] for each in kinds.values() if each.get("schema")), None)
    return _values(schema) if schema else (("no JSON", ""),)


def _values(schema: Schema) -> Words:
    """Describe the values of a field; each word comes with the body it links to, if any."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return ((name, name),)
    if "anyOf" in schema:
        kinds = [_values(each) for each in schema["anyOf"]]
        return tuple(word for at, words in enumerate(kinds) for word in (*_OR[: at > 0], *words))
    if "enum" in schema or "const" in schema:
        return ((", ".join(map(str, schema.get("enum", [schema.get("const")]))), ""),)
    kind = schema.get("type", "any")
    if kind == "array":
        return (("list of ", ""), *_values(schema.get("items", {})))
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return (("map to ", ""), *_values(schema["additionalProperties"]))
    bounds = [
        f"{word} {schema[key]}"
        for key, word in (("minimum", "from"), ("maximum", "to"), ("format", "as"))
        if key in schema
    ]
    return ((" ".join([kind, *bounds]), ""),)


def _summary(thing: Schema) -> str:
    """Return the first paragraph of a description on one line."""
    paragraph = str(thing.get("description", "")).partition("\n\n")[0]
    return " ".join(paragraph.replace("``", "").split())


def _default(schema: Schema) -> str:
    value = schema.get("default")
    return "" if value is None or value in ("", [], ()) else json.dumps(value)


def _shown_default(value: object, *, none: str = "null") -> str:
    if value is None:
        return none
    if value in ("", (), []):
        return "(empty)"
    if isinstance(value, tuple | list):
        return ", ".join(f"`{item}`" for item in value)
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


if __name__ == "__main__":
    sys.stdout.write(settings_page())
