"""Questions in other words, by rules alone: no model wrote them, and the gate was not looked at.

Two grades. ``framed``: the same words in another frame ("Could you tell me what X is?"), an
opening condition moved to the end, contractions written out. ``reworded``: the same, and everyday
synonyms put in, as many as fit. The synonyms were written down from a dictionary of common English
pairs and not from the list that the gate has (``text/data/en/words.toml``), so that a question may
well become one that the gate does not take for the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

SYNONYMS = dict(
    pair.split("=")
    for pair in (
        "impact=effect impacts=effects effects=consequences effect=consequence best=most-suitable "
        "main=primary important=significant reduce=lower improve=enhance help=assist "
        "children=kids treatment=therapy treatments=therapies treat=manage difference=distinction "
        "differences=distinctions benefits=advantages advantages=benefits ways=methods "
        "methods=ways way=method use=employ used=employed using=employing kind=type kinds=types "
        "types=kinds causes=reasons explain=describe describe=explain big=large begin=start "
        "ensure=guarantee build=construct increase=raise doctor=physician illness=disease "
        "disease=illness purchase=buy buy=purchase currently=at-present quickly=fast "
        "required=needed necessary=needed possible=feasible study=research approach=strategy "
        "strategies=approaches factors=elements role=function patient=sick-person "
        "recommend=advise recommended=advised common=frequent issue=problem issues=problems"
    ).split()
)
_SHORT = {
    "what's": "what is",
    "how's": "how is",
    "where's": "where is",
    "don't": "do not",
    "doesn't": "does not",
    "can't": "cannot",
    "isn't": "is not",
    "aren't": "are not",
    "i'm": "I am",
    "it's": "it is",
}
_CONDITION = re.compile(
    r"^(?P<if>(?:If|When|In|For|During|After|Since|As)\b[^,?.]{3,160}), (?P<rest>[a-z][^?]*)\?$"
)
_WHAT_IS = re.compile(r"^(?P<wh>What|Who|Where|Which) (?P<be>is|are|was|were) (?P<np>[^?]+)\?$")
_HOW = re.compile(
    r"^(?P<wh>How|Why|When|Where) (?P<aux>can|could|should|would|will|is|are|was|were) "
    r"(?P<np>(?:[a-z]+ ){0,1}[a-z]+) (?P<rest>[^?]+)\?$"
)
_FRAMES = (
    "Could you tell me {}?",
    "I would like to know {}.",
    "Please explain {}.",
    "Do you know {}?",
)
_PRONOUNS = {"i", "we", "you", "they", "he", "she", "one", "someone"}
_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*")


def framed(question: str, number: int) -> str:
    """The question with the same words in another frame; ``number`` chooses the frame."""
    text = _written_out(" ".join(question.split()))
    head, last = _last_sentence(text)
    moved = _CONDITION.match(last)
    if moved:
        condition = moved["if"][0].lower() + moved["if"][1:]
        last = f"{moved['rest'][0].upper()}{moved['rest'][1:]} {condition}?"
    frame = _FRAMES[number % len(_FRAMES)]
    if found := _WHAT_IS.match(last):
        phrase = f"{found['wh'].lower()} {found['np']} {found['be']}"
        # "what the effects are of X" reads better than the verb at the very end of a long phrase.
        head_noun = re.match(
            r"^(?P<a>[^,]{2,40}?) (?P<b>(?:of|for|in|on|to|between)\b.+)$", found["np"]
        )
        if head_noun:
            phrase = f"{found['wh'].lower()} {head_noun['a']} {found['be']} {head_noun['b']}"
        last = frame.format(phrase)
    elif (found := _HOW.match(last)) and found["np"].lower() in _PRONOUNS:
        last = frame.format(f"{found['wh'].lower()} {found['np']} {found['aux']} {found['rest']}")
    elif not moved:
        last = f"Please tell me: {last[0].lower() if last[:2] != 'I ' else last[0]}{last[1:]}"
    return f"{head} {last}".strip()


def reworded(question: str, number: int) -> str:
    """``framed``, with synonyms in place of words that have one."""

    def other(found: re.Match[str]) -> str:
        word = found.group()
        new = SYNONYMS.get(word.lower(), "").replace("-", " ")
        if not new:
            return word
        return new.capitalize() if word[0].isupper() else new

    return _WORD.sub(other, framed(question, number))


def changed(question: str, other: str) -> bool:
    """Whether a word was put in place of another."""
    return _bag(framed(question, 0)) != _bag(other) and bool(
        set(map(str.lower, _WORD.findall(question))) & SYNONYMS.keys()
    )


def _bag(text: str) -> Sequence[str]:
    return sorted(word.lower() for word in _WORD.findall(text))


def _written_out(text: str) -> str:
    def long(found: re.Match[str]) -> str:
        word = found.group().replace("’", "'")
        new = _SHORT.get(word.lower(), "")
        return (new[0].upper() + new[1:] if word[0].isupper() else new) if new else found.group()

    return _WORD.sub(long, text)


def _last_sentence(text: str) -> tuple[str, str]:
    """What leads up to the last sentence, and that."""
    cut = max(text.rfind(". ", 0, -1), text.rfind("? ", 0, -1), text.rfind(": ", 0, -1))
    return (text[: cut + 1], text[cut + 2 :]) if cut > 0 else ("", text)
