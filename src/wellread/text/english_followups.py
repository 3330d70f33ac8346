"""The English forms of questions that lean on what was said before, and of limits to a time.

Patterns are for ``re.IGNORECASE``. Another language is another module with these names.
"""

from __future__ import annotations

import re
from functools import partial

_form = partial(re.compile, flags=re.IGNORECASE)

# --- questions that leave words out ---------------------------------------------------------------

ALSO = _form(
    r"^(?:and|or|but|also|then|so)(?:\s+(?:also|then|what|how\s+about))?[,\s]+(?P<part>.+?)[?.!\s]*$"
)
ONLY_QUESTION_WORD = _form(
    r"^(?:(?:and|but|so|ok|okay|then)[,\s]+)?"
    r"(?P<wh>why(?:\s+not)?|how(?:\s+(?:so|come|many|much|often|long))?|when|where|who"
    r"|(?:by|for|with|to|from)\s+whom|since\s+when|which(?:\s+ones?)?)\s*(?:\s+(?:exactly|is\s+that|was\s+that"
    r"|of\s+them))?[?.!\s]*$"
)
MORE = _form(
    r"^(?:(?:and|ok|okay|so)[,\s]+)?(?:(?:please\s+)?(?:can\s+you\s+)?(?:tell|show|give)\s+me\s+(?:some\s+)?more"
    r"(?:\s+(?:details?|information|examples))?|more(?:\s+(?:details?|please|information|examples))?"
    r"|go\s+on|continue|elaborate|explain(?:\s+(?:more|further))?|what\s+else|anything\s+else|any\s+others?"
    r"|like\s+what|such\s+as(?:\s+what)?|for\s+example|(?:any\s+)?examples|is\s+that\s+all)[?.!\s]*$"
)
# A question for yes or no, or with a question word before the same ("when was ...").
POLAR = re.compile(
    r"^(?P<wh>(?:when|where|why|how)\s+)?(?P<rest>(?:is|are|was|were|do|does|did|has|have|had|can|could"
    r"|will|would|should|must|may|might)\b.*)$",
    re.IGNORECASE | re.DOTALL,
)
WHAT_ABOUT = _form(
    r"^(?:(?:and|but|so|ok|okay|then)[,\s]+)?(?:what|how)\s+(?:about|of)\s+(?P<part>.+?)[?.!\s]*$"
)
EXISTS = _form(r"^(?P<be>are|were)\s+there\s+(?:any\s+|some\s+)?(?P<noun>.*)$")

# --- words that point back ------------------------------------------------------------------------

THEN = _form(
    r"\b(?:(?:in|during|at|around)\s+(?:that|this|the\s+same)\s+(?:time|year|period|month|date|day)"
    r"(?:\s+(?:period|frame))?|back\s+then|at\s+the\s+time|then(?=\s*[?.!]*$))"
)
AFTER_THERE = re.compile(
    r"\s*(?:$|[?.!,;]|(?:in|on|at|during|after|before|and|or|for|with|by|since)\b)"
)
IS_A = re.compile(
    r"\s+(?:is|was)\s+an?\s+(?:[\w-]+\s+){0,3}?(?P<kind>[a-z]{3,})"
    r"(?=\s*(?:[,.;]|$)|\s+(?:for|of|in|on|at|from|that|which|who|with|by|to|and)\b)"
)
EMPTY_IT = _form(
    r"\b(?:is|was|isn['’]?t|wasn['’]?t|would|will|be)\s+it\s+(?:be\s+)?(?:\w+ly\s+)?\w+\s+(?:to|that|for|if)\b"
    r"|\bit\s+(?:is|was|will\s+be|would\s+be)\s+(?:not\s+)?(?:\w+ly\s+)?\w+\s+(?:to|that|for|if)\b"
    r"|\bit\s+(?:(?:takes?|took)(?!\s+place)|seems?|seemed|rains?|rained|snows?|snowed|turns?\s+out)\b"
    r"|\bit\s+mean\s+(?:to|for|that|if|when)\b|\bit\s+costs?\s+to\b|\bhow\s+is\s+it\s+that\b|\bmake\s+it\s+(?:to|big|possible|easy)|\bget\s+over\s+it\b"
)
PREFACE = _form(
    r"(?:besides|aside|apart|in\s+addition|other\s+than|after|before|when|while|although|though"
    r"|because|since|despite|during)\b"
)
BEFORE_THIS = frozenset(
    "is was does did do about of for like with by on has can could will".split()
)
NEVER_BEFORE_THIS = frozenset("after before since like than of besides at do".split())
PEOPLE = frozenset("anyone children everybody everyone members people persons users".split())
ORDINALS = {
    word: place
    for place, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth".split()
    )
} | {f"{n}{end}": n - 1 for n, end in enumerate("st nd rd th th th th th th th".split(), 1)}
LIST_COUNTS = {word: n for n, word in enumerate("two three four five six".split(), 2)} | {
    str(n): n for n in range(2, 10)
}
LIST_NOUN = (
    r"(?:ones?|of\s+(?:them|these|those|the\s+\w+)|options?|items?|results?|points?|choices?"
    r"|answers?|in\s+the\s+list)"
)
# What may follow when no noun does: the phrase is then a noun itself ("the second is cheaper?").
ALONE = (
    r"(?=\s*(?:$|[?.!,;]|(?:is|are|was|were|do|does|did|has|have|had|can|will|would|and|or|cost"
    r"|\w+er|costs|lend|open|sell|offer|run|say|take|use|work|works|mean|means|better|cheaper|with|from)\b))"
)
POINTING = _form(
    rf"\b(?:(?:the|your)\s+(?:"
    rf"(?P<edge>first|last)\s+(?P<count>{'|'.join(LIST_COUNTS)})(?:\s+{LIST_NOUN}|{ALONE})"
    rf"|(?P<ordinal>{'|'.join(ORDINALS)}|last)(?:\s+{LIST_NOUN}|{ALONE})"
    rf"|(?P<pair>former|latter){ALONE}"
    rf"|(?P<other>other)\s+(?:one|two)\b)"
    rf"|(?P<both>both|all)(?:\s+of\s+(?:them|these|those)|{ALONE})"
    rf"|(?:number|option|item|no\.|#)\s*(?P<number>\d{{1,2}})\b"
    rf")"
)

# --- limits that are let go of --------------------------------------------------------------------

# The asker lets go of what was set before; the words themselves go too.
ALL_TIMES = _form(
    r"\b(?:overall|in\s+general|generally|(?:at|of)\s+any\s+time|of\s+all\s+time|ever|in\s+total"
    r"|regardless(?:\s+of\s+(?:the\s+)?(?:time|date|year))?|(?:in\s+)?all\s+years|to\s+date"
    r"|altogether)\b"
)
EVERYWHERE = _form(
    r"\b(?:overall|in\s+general|generally|anybody|anyone|everyone|everybody|all\s+sources"
    r"|(?:in\s+)?any\s+source|everywhere|elsewhere|regardless|(?:the\s+)?others|else)\b"
)
TIME_LED = _form(
    r"\b(?:in|during|since|before|after|from|by|until|on|over|for|within)\s+(?:the\s+)?$"
)

# --- limits to a time -----------------------------------------------------------------------------

BEFORE_TIME = _form(
    r"(?:\b(?P<word>since|after|before|prior\s+to|ahead\s+of|until|till|up\s+to|in|during|throughout|within"
    r"|over|across|for|of|on|from|by|around|as\s+of|at|to|and|through)\s+)?"
    r"(?:the\s+|a\s+)?(?:(?:calendar\s+)?year\s+)?$"
)
# What may follow a date without making it part of a name.
AFTER_TIME = _form(
    r"^\s*(?:$|[?.!,;:)\-–]|(?:about|above|across|after|against|already|also|and|are|as|at|be|been"
    r"|before|by|can|concern\w*|cover\w*|deal\w*|did|discuss\w*|do|does|during|for|from|had|has"
    r"|have|how|in|into|is|mention\w*|of|on|or|regarding|report\w*|said|say|saying|should|so|still"
    r"|than|that|the|there|they|to|was|we|were|what|when|where|which|who|why|will|with|within"
    r"|without|would)\b)"
)
PUBLISHED = _form(
    r"\b(?:report(?:ed|s)?|publish(?:ed|es)?|wr(?:ote|itten|ites?)|announced?|posted|appeared|said"
    r"|say|says|told|talk(?:s|ed)?|discuss(?:es|ed|ion)?|mention(?:s|ed)?|cover(?:s|ed|age)?|issued"
    r"|added|news|headlines?|interview|recap|episode|meeting|notice|newsletter|article)\b"
)
TOLD = _form(
    r"\b(?:report(?:ed|s)?|published?|wr(?:ote|itten|ites?)|posted|appeared|said|say|says"
    r"|talk(?:s|ed)?|discuss(?:es|ed)?|mention(?:s|ed)?|covered|issued)\b"
)
AMOUNT = _form(
    r"^(?:\W*(?:and|so|but|about|approximately|roughly)\s+)?(?:when\b|(?:for\s+)?how\s+"
    r"(?:much|many|long|often|large|big|high|far|fast|old|deep|wide|tall|heavy|cheap|expensive)\b)"
)

# --- limits by the taxonomy -----------------------------------------------------------------------

BEFORE_VALUE = frozenset({"in", "at", "on", "for", "of", "from", "within", "under", "to", "with"})
LISTING = _form(r"\b(?:which|what|list|count|how\s+many|number\s+of|show|find|all|every|any)\b")
LISTING_ASKED = _form(
    r"(?:^\W*|\b)(?:which|what|list|count|how\s+many|number\s+of|show|find|all|every|any)"
    r"(?:\s+[\w-]+){0,2}\s+$"
)
ABOUT = r"(?:about|on|that|which|where|with|mention\w*|discuss\w*|cover\w*|from)"

# --- turns that ask for nothing -------------------------------------------------------------------

THANKS = frozenset("thank thanks thx cheers ty".split())
GREETINGS = frozenset("hello hi hey hiya morning evening afternoon greetings howdy".split())
PARTINGS = frozenset("bye goodbye farewell".split())
PLEASED = frozenset(
    "ok okay great nice cool perfect awesome excellent fine good understood alright brilliant "
    "lovely wonderful super wow helpful interesting".split()
)
BESIDE_A_COURTESY = frozenset(
    """
    a all again and day for got gotcha have i it is lot much now see so that thats the then there
    this to very was well you your help answer answers right really s oh ah
    """.split()
)
