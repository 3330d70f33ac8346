"""Orders in sources to whoever searches: calls of tools, and orders to look something up."""

from __future__ import annotations

import re

# What a line that holds a call looks like, in this program's syntax or in that of models.
CALL_SYNTAX = (
    r"(?<![a-z])CALL\s*:|\bcall\s*:\s*(?:curl|get|post|/|https?:)|\bcurl\b|/api/"
    r"|\btool_?(?:call|use)s?\b|\bfunction_?calls?\b"
    r"|<\s*/?\s*(?:tool|function|invoke|parameter)\w*|\[/?(?:TOOL|INST)\w*\]|<\|[^|>\n]{0,40}\|>"
    r"|[\"'](?:tool|tool_name|function|arguments|parameters)[\"']\s*:"
)
_SPOKEN_TO = (
    r"(?:(?:please|now|then|next|first|also|instead|always|immediately|and|assistant|ai|agent"
    r"|model|system|important|note|you (?:must|should|have to|need to|will|are to|can))\b"
    r"[,:;!]?\s+)*"
)
_LOOKING = r"(?:search|query|look\s+up|look\s+for|google|find|retrieve|research)"
_OPENING = r"(?:open|visit|fetch|load|browse|download|request|get|post|send|go\s+to|follow|click)"
_CALLING = r"(?:call|invoke|use|run|execute|make|trigger|issue|perform|do)"
_TOOLS = r"(?:tools?|functions?|apis?|endpoints?|requests?|quer(?:y|ies)|search(?:es)?|calls?)"
ORDERS_TO_LOOK = (
    re.compile(
        rf"^\W*{_SPOKEN_TO}{_LOOKING}\s+(?:for|the|all|in|our|every|any|this|these|[\"'“‘:])",
        re.IGNORECASE,
    ),
    re.compile(rf"^\W*{_SPOKEN_TO}look\s+up\b", re.IGNORECASE),
    re.compile(
        rf"\b{_OPENING}\b[^.\n]{{0,80}}(?:https?:|www\.|\bfile:|\burl\b|\blink\b|\s/\w+)",
        re.IGNORECASE,
    ),
    re.compile(rf"\b{_CALLING}\b[^.\n]{{0,60}}\b{_TOOLS}\b", re.IGNORECASE),
    re.compile(
        r"\b(?:assistants?|ai|agents?|models?|bots?|llms?|you)\b[^.\n]{0,40}"
        r"\b(?:must|should|shall|ha(?:s|ve) to|needs? to|will|are to|is to)\b[^.\n]{0,40}"
        rf"\b(?:{_LOOKING}|{_OPENING}|{_CALLING})\b",
        re.IGNORECASE,
    ),
)
