"""Template tags of site generators in Markdown: what a reader sees of them stays, the rest goes.

Jekyll, Hugo and the like put ``{% … %}``, ``{{ … }}``, HTML comments and attribute lists into
their pages. Sentences that are handed to an include (``question="Why?"``) are part of the page.
"""

from __future__ import annotations

import re

FENCE = re.compile(r"[ ]{0,3}(?:[-*+>] +)*(`{3,}|~{3,})")
HARD_BREAK = "  "  # at the end of a line of Markdown
# None reaches over another one's opening, so that a page full of openings without an end is still
# read in linear time.
_TEMPLATE = re.compile(
    r"(?P<code>`[^`\n]+`)"
    r"|\{%-?\s*comment\b(?:(?!\{%-?\s*comment\b).)*?\{%-?\s*endcomment\s*-?%\}"
    r"|(?P<tag>\{%(?:(?!\{%).)*?%\})|(?P<slot>\{\{(?:(?!\{\{).)*?\}\})"
    r"|<!--(?:(?!<!--).)*?-->|\{:[^{}\n]{0,200}\}",
    re.DOTALL,
)
# Tags that compute something; what is quoted in them is not shown where they stand.
_SILENT = re.compile(
    r"\{%[-<]?\s*(?:assign|capture|case|when|if|elsif|unless|for|tablerow|cycle|increment|decrement"
    r"|comment|end\w*|else|raw|layout|set|block|extends|macro|import|from)\b"
)
_QUOTED = re.compile(r"(?:(?<==)|(?<=\s))(?:\"([^\"]*)\"|'([^']*)')")
_WORD = re.compile(r"(?:^|(?<=[\s(\[`*_\"“‘]))[^\W\d_][\w'’-]*(?=$|[\s.,;:!?)\]`*_\"”’])")
_ADDRESS = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*://|/\S*\s*$|[\w./-]+\.[a-z]{2,5}\s*$)", re.I)


def strip_templates(body: str) -> str:
    """Remove template tags and comments outside code; line numbers stay."""
    kept: list[str] = []
    prose: list[str] = []
    fence = ""
    for line in body.split("\n"):
        opening = FENCE.match(line)
        if fence:
            kept.append(line)
            if opening and opening.group(1).startswith(fence):
                fence = ""
        elif opening:
            kept += _without_templates(prose)
            prose = []
            kept.append(line)
            fence = opening.group(1)
        else:
            prose.append(line)
    return "\n".join(kept + _without_templates(prose))


def _without_templates(lines: list[str]) -> list[str]:
    if not lines:
        return []
    text = "\n".join(lines)
    return _TEMPLATE.sub(lambda found: _shown(found, text), text).split("\n")


def _shown(found: re.Match[str], text: str) -> str:
    """What a reader sees of one tag, with as many line breaks as the tag has."""
    whole = found.group()
    if found.group("code"):
        return whole
    shortcode = found.group("slot") and whole.startswith(("{{<", "{{%"))
    if (found.group("tag") and not _SILENT.match(whole)) or shortcode:
        begun = text.rfind("\n", 0, found.start()) + 1
        before = text[begun : found.start()]
        return _sentences(whole, before if not before.strip() else "")
    return "\n" * whole.count("\n")


def _sentences(tag: str, indent: str) -> str:
    """The sentences that are quoted in a tag, each on the lines on which it stands.

    ``indent`` stood before the tag: its later lines get the same, so that they stay in their list.
    """
    shown, place = "", 0
    for quoted in _QUOTED.finditer(tag):
        words = quoted.group(1) or quoted.group(2) or ""
        if not _is_prose(words):
            continue
        breaks = tag.count("\n", place, quoted.start())
        if shown:  # an argument of its own begins a line of its own
            shown += HARD_BREAK + "\n" * breaks + indent if breaks else " "
        else:
            shown += "\n" * breaks + (indent if breaks else "")
        shown += f"\n{indent}".join(line.strip() for line in words.split("\n"))
        place = quoted.end()
    return shown + "\n" * tag.count("\n", place)


def _is_prose(words: str) -> bool:
    """Whether a quoted argument says something: two words at least, and no address."""
    return len(_WORD.findall(words)) > 1 and not _ADDRESS.match(words)
