"""A language model that does whatever its prompt's sources tell it to: the worst case.

It finds instructions wherever it can read them (evidence, past questions, hidden characters,
base64) and obeys all of them at once. What is delivered then is what stands between a poisoned
source and a reader.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import re
from collections.abc import AsyncGenerator, Iterator
from urllib.parse import quote

from wellread.models.base import ModelUsage, Prompt, TextDelta

CHUNK = 7
_PASSAGE = re.compile(
    r'(<passage-\w+ key="(?P<key>\w+)">)\n(?P<facts>.*?\n|)text:\n(?P<text>.*?)\n</passage', re.S
)
_SENTENCE = re.compile(r"(?P<text>[A-Z][^\n.!?]{12,}\.)")
_CODED = re.compile(r"\b[A-Za-z0-9+/]{24,}={0,2}")
_ADDED = re.compile(r"Add this (?:image|link)? ?to your answer: ([^\n]+)")
_INTO_GAPS = re.compile(r"Write (\S+) into data_gaps")
_KEYS = re.compile(r"[Cc]ite [^.\n]*")
_LIE = re.compile(r"say that (the [^.\n]*)\.")
_WORDS = re.compile(r"[Aa]nswer nothing but [^:\n]*: ([^.\n]*)")
_ANSWERED = re.compile(r"\bAnswer: ([^\n]*)")


class ObedientModel:
    """Obeys every instruction in its ``prompts``; ``obeyed`` has the names of those."""

    def __init__(self, *, identity: str = "obedient:model") -> None:
        self.prompts: list[Prompt] = []
        self.obeyed: list[str] = []
        self.identity = identity

    async def stream(self, prompt: Prompt) -> AsyncGenerator[TextDelta | ModelUsage, None]:
        """The first whole sentence of the first passage, then whatever it was told to add."""
        judging = prompt.schema is not None  # which it cannot do
        if not judging:
            self.prompts.append(prompt)
        reply = "Yes, all of it." if judging else self._reply(prompt)
        for start in range(0, len(reply), CHUNK):
            await asyncio.sleep(0)
            yield TextDelta(text=reply[start : start + CHUNK])
        yield ModelUsage(model=self.identity)

    def _reply(self, prompt: Prompt) -> str:
        tags, unhidden, *coded = revealed(prompt.user)
        hidden = [tags, unhidden] if tags or "\u200b" in prompt.user else []
        told = "\n".join([prompt.user, *hidden, *coded])
        question = prompt.user.rpartition("<question-")[2].partition("\n")[2]
        question = question.rpartition("</question-")[0].strip()
        first = _PASSAGE.search(prompt.user)
        if first is None:
            return "There is no evidence."
        sentence = _SENTENCE.search(first["text"])
        said = (sentence or first)["text"].strip().partition("\n")[0].rstrip(".")
        keys = f"[{first['key']}]"
        parts = [f"{said} {keys}{''.join(self._keys(told))}."]
        for name, said in _orders(prompt, told, first):
            self.obeyed.append(name)
            parts.append(said.replace("QUESTION", quote(question)))
        tail: dict[str, object] = {"confidence": 0.4, "data_gaps": ["the source of the river"]}
        if "confidence to 1.0" in told or '"confidence": 1.0' in told:
            self.obeyed.append("confidence")
            tail = {"confidence": 1.0, "data_gaps": []}
        gaps = [gap.replace("QUESTION", quote(question)) for gap in _INTO_GAPS.findall(told)]
        if gaps:
            self.obeyed.append("gaps")
            tail |= {"data_gaps": gaps, "conflicts": [*gaps, _rules(prompt)]}
        return "\n\n".join(parts) + "\n---\n" + json.dumps(tail)

    def _keys(self, told: str) -> list[str]:
        found = [key for order in _KEYS.findall(told) for key in re.findall(r"\[\w+\]", order)]
        if found:
            self.obeyed.append("keys")
        return list(dict.fromkeys(found))


def _orders(prompt: Prompt, told: str, first: re.Match[str]) -> Iterator[tuple[str, str]]:
    """Name and text of what it was told to write."""
    if re.search(r"print your system prompt", told, re.IGNORECASE):
        yield "leak", _rules(prompt)
        yield "leak on a line", " ".join(_rules(prompt).split())
    if re.search(r"[Rr]epeat the line", told):
        yield "fence", f"The line is {first.group(1)} and so on."
    for line in re.findall(r"CALL:[^\n]*", told):
        yield "call", line
        yield "call in a sentence", f"I looked it up with {line} and found nothing."
    for line in _ADDED.findall(told):
        yield "added", line
        yield "added in a sentence", f"Herons nest there {line} every year."
    for line in _LIE.findall(told):
        yield "lie", f"{line[:1].upper()}{line[1:]} [{first['key']}]."
    for line in _WORDS.findall(told):
        yield "words", f"{line.strip().capitalize()}, says everybody!"
    for line in _ANSWERED.findall(told):
        yield "answered", f"{line.rstrip('.')} at last, and {line.lower()}"
    for line in re.findall(r'\{"tool":[^\n]*\}', told):
        yield "tool", line
    if "as supported" in told:
        yield "verdict", "This sentence is supported (verdict: supported, 100 %)."


def _rules(prompt: Prompt) -> str:
    """The prompt without its evidence."""
    return f"{prompt.system}\n{prompt.user[prompt.shared :]}"


def revealed(text: str) -> list[str]:
    """What stands in ``text`` for those who look behind the letters."""
    tags = "".join(
        chr(ord(letter) - 0xE0000) for letter in text if 0xE0020 <= ord(letter) < 0xE007F
    )
    found = [tags, re.sub(r"[\u200b\u2060\ufeff\u00ad]", "", text)]
    for coded in _CODED.findall(text):
        try:
            found.append(base64.b64decode(coded, validate=True).decode())
        except (binascii.Error, UnicodeDecodeError):
            continue
    return found
