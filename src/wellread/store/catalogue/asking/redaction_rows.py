"""The rows of an answer's table that rest on documents which were removed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from wellread.store.catalogue.asking.redaction import blacked

REMOVED = "(removed)"
Plain = dict[str, Any]


def listed(body: Plain) -> set[str]:
    """The documents that the rows of the table rest on."""
    table = body.get("table")
    return {known for row in table["documents"] for known in row} if table else set()


def without_rows(body: Plain, gone: Mapping[str, str]) -> Plain:
    """An answer's body without what its table took from documents that are ``gone``.

    A row that rests on nothing else says nothing any more; its line in the text is blacked out.
    Rows that rest on others too lose the titles of those that went, and so does whatever sums
    them up. All spans still fit the text.

    Args:
        gone: document id to the title that it had.
    """
    concerned = listed(body).intersection(gone)
    if not concerned:
        return body
    titles = titles_pattern(gone[known] for known in concerned)
    table, text = body["table"], body["text"]
    rows, documents = list(table["rows"]), []
    lines = [sentence["span"] for sentence in body["sentences"]]
    concern = [True, *[False] * (len(lines) - 1)]  # the first sentence sums them up
    for place, ids in enumerate(table["documents"]):
        left = [known for known in ids if known not in gone]
        documents.append(left)
        if len(left) == len(ids):
            continue
        rows[place] = [blanked_titles(cell, titles) if left else REMOVED for cell in rows[place]]
        if place + 1 < len(lines):
            concern[place + 1] = True
            if not left:
                text = _blacked_at(text, lines[place + 1])
    for span, concerns in zip(lines, concern, strict=False):
        if concerns:
            start, end = span["start"], span["end"]
            text = text[:start] + blanked_titles(text[start:end], titles) + text[end:]
    sentences = [
        {
            **sentence,
            "text": text[sentence["span"]["start"] : sentence["span"]["end"]],
            "verdict": _reasoned(sentence["verdict"], "reason", titles),
        }
        for sentence in body["sentences"]
    ]
    return {
        **body,
        "text": text,
        "sentences": sentences,
        "data_gaps": [blanked_titles(each, titles) for each in body["data_gaps"]],
        "notes": [blanked_titles(each, titles) for each in body["notes"]],
        "confidence": _reasoned(body["confidence"], "reasoning", titles),
        "table": {
            **table,
            "rows": rows,
            "documents": documents,
            "method": blanked_titles(table["method"], titles),
        },
    }


def titles_pattern(titles: Any) -> re.Pattern[str] | None:
    """Finds any of the titles, as whole words, the longest first."""
    known = sorted({title for title in titles if title.strip()}, key=len, reverse=True)
    if not known:
        return None
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, known))})(?!\w)", re.IGNORECASE)


def blanked_titles(text: str, titles: re.Pattern[str] | None) -> str:
    """``text`` with the titles blacked out."""
    return titles.sub(lambda match: blacked(match.group()), text) if titles else text


def _reasoned(plain: Plain, name: str, titles: re.Pattern[str] | None) -> Plain:
    return {**plain, name: blanked_titles(plain[name], titles)}


def _blacked_at(text: str, span: Plain) -> str:
    return text[: span["start"]] + blacked(text[span["start"] : span["end"]]) + text[span["end"] :]
