"""Generates the page on settings (``docs/settings.md``) from the table of settings.

``python -m wellread.serve.settings_page > docs/settings.md``; a test compares the two.
"""

from __future__ import annotations

import sys

from wellread.config import ALIASES, settings_table


def settings_page() -> str:
    """Return the settings page as Markdown."""
    lines = [
        "# Settings",
        "",
        "<!-- Written by `python -m wellread.serve.settings_page`; a test compares. -->",
        "",
        "Values come from, in decreasing order of precedence: arguments, `WELLREAD_*` environment",
        "variables, the short `QA_*` variables, `wellread.yaml` in the home, the defaults. In",
        "`wellread.yaml` the part before the dot is a section:",
        "",
        "```yaml",
        "qa:",
        "  confidence_threshold: 0.4",
        "```",
        "",
        "A file that keeps these sections under a top-level `qa:` is read as well, with",
        "`citations.format` for the style and `retrieval.rerank` for the trained reader.",
        "",
        "`wellread settings` shows the values that are in force; "
        "`wellread settings NAME VALUE` sets one.",
        "",
        "| setting | default | environment variable | what it does |",
        "|---|---|---|---|",
        *(
            f"| `{row.name}` | {_shown_default(row.default)} | `{row.variable}` | {row.help} |"
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


def _shown_default(value: object) -> str:
    if value in (None, "", (), []):
        return "(empty)"
    if isinstance(value, tuple | list):
        return ", ".join(f"`{item}`" for item in value)
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


if __name__ == "__main__":
    sys.stdout.write(settings_page())
