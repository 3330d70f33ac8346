"""The English forms of what a question asks to be told, and the sides of comparisons.

Patterns are for ``re.IGNORECASE``. Another language is another module with these names.
"""

from __future__ import annotations

import re
from functools import partial

_form = partial(re.compile, flags=re.IGNORECASE)

# --- what is asked to be told, and what tells it --------------------------------------------------

ASKS_WHAT = _form(
    r"^\W*(?:(?:what|who)(?: (?:is|are|was|were)|['’]s)"
    r"(?: (?:meant by|said about|known about)| the (?:meaning|definition) of)?|define|describe"
    r"|explain(?! (?:how|why|what|when|where)\b)|what do(?:es)?(?= .*\b(?:mean|stand for)\b)"
    r"|how (?:do|does|did|would)(?=.*\bworks?\W*$)|(?:can you )?tell (?:me|us) (?:more )?about"
    r"|what (?:do|does) (?:the|our|your|my) \w+ say about)"
    r" (?:an? |the )?(?P<what>(?!(?:it|this|that|they) )(?:\S+ ?){1,5}?)"
    r"(?:\b ?(?:mean|stand for|works?))?"
    r"(?: in (?:this|these|the) \w+)?(?:,? and what (?:is|are) (?:it|they|that))?\W*$"
)
OPENING_A_SENTENCE = r"(?:(?:so|and|well|now|yeah|basically|then|okay|right),?\s+)*"
INSIDE_A_NAME = frozenset("a an and by for in of on or the to with".split())
SAYS_WHAT = (
    r"(?:(?:is|are|was|were) (?:an?|the|one|any|some)\b|refers? to|means?\b|describes?\b"
    r"|are (?:[\w-]+ ){0,2}[\w-]+s (?:that|which|who|used|for|of|in)\b)"
)
# Before a word that asks; elsewhere it only leads on: "those who", "what happens when".
_ASKING = (
    r"(?:^\W*|[,;:]\s*|\b(?:and|or|but|by|to|of|with|for|from|on|about|since|until|till|tell|me|us"
    r"|know|say|show|find out|remember)\s+)"
)
ASKS_FOR = {  # the first form that fits counts
    "person": _form(rf"{_ASKING}(?:who|whom|whose)\b"),
    "date": _form(
        rf"{_ASKING}when\b"
        r"|\b(?:what|which|in what|by what) (?:year|day|date|month|time|century|decade)\b"
    ),
    "number": _form(
        r"\bhow (?:many|much|long|far|often|old|large|big|high|fast|tall|deep|heavy|warm|hot"
        r"|cold|wide|late|early|close)\b"
        r"|\b(?:what|which)(?: is| was| are| were)?(?: the| its| their)?(?: \w+)? "
        r"(?:percentage|per cent|share|number|amount|price|cost|fee|population|budget|age"
        r"|length|height|size|speed|rate|temperature|distance|depth|area|capacity)\b"
        r"|\bwhat (?:do|does|did|will|would) .*\b(?:cost|charge|pay)s?\b"
        r"|\b(?:what|which) (?:\w+ ){1,2}(?:size|height|length|number)\b"
        r"|\b(?:compare|differ)\b.*\b(?:number|size|amount|cost|price|length|height|depth|width|weight|speed"
        r"|duration|time|age|diameter|capacity|share|rate|distance)s? of\b"
    ),
    "place": _form(
        r"\bwhere\b(?!.*\b(?:comes?|came|coming|taken|drawn|derived?|stems?|originates?)\s+from\W*$)"
        r"|\b(?:what|which) (?:place|country|city|town|state|village|island)\b"
    ),
    "reason": _form(r"\bwhy\b|\breasons?\b|\bwhat (?:causes?|caused|led)\b|\bpurpose\b"),
    "way": _form(r"\bhow (?:do|does|did|can|could|is|are|was|were|should|to)\b"),
    "definition": _form(r"^\W*(?:what|who) (?:is|are|was|were) (?:an? |the )?(?:\S+ ?){1,4}\W*$"),
}
TIMES = frozenset("year month week day hour minute second".split())
MONEY = frozenset({"dollar", "euro", "pound"})
_WATTS = (f"{many}watt{held}" for many in ("kilo", "mega", "giga") for held in ("", " hour"))
_POWERS = {"horsepower", *_WATTS}
_WEIGHTS = {"kilogram", "gram", "milligram", "tonne", "pound"}
_LENGTHS = {"kilometre", "metre", "centimetre", "millimetre", "nautical mile", "mile", "foot"}
# How an amount is asked for, and its units.
UNITS_ASKED: tuple[tuple[re.Pattern[str], frozenset[str]], ...] = tuple(
    (_form(form), frozenset(units))
    for form, units in (
        (r"\bhow long\b", TIMES | _LENGTHS),
        (r"\bhow old\b", TIMES),
        (r"\bhow (?:far|tall|high|deep|wide)\b|\bthe (?:length|height|depth|distance)\b", _LENGTHS),
        (r"\bhow fast\b|\bspeed\b", {"kilometre per hour", "mile per hour", "knot"}),
        (r"\bhow heavy\b|\bweigh(?:s|ed)?\b", _WEIGHTS),
        (r"\bhow (?:hot|cold|warm)\b|\btemperature\b", {"degree"}),
        (r"\b(?:percentage|per cent|percent|share of)\b", {"per cent"}),
        (
            r"\b(?:price|fee|budget)\b|\bhow much (?:(?:money|funding)\b|.*\b(?:costs?|pays?|paid"
            r"|spen[dt])\b)|\bwhat (?:do|does|did|will|would) .*\b(?:cost|charge|pay)s?\b",
            MONEY,
        ),
        (r"\bhow much (?:\w+ )?(?:power|energy|electricity)\b(?!.*\bcosts?\b)", _POWERS),
    )
)
HOW_MANY = _form(r"\bhow many\s+(?P<what>(?:[\w'’-]+\s+){0,3}[\w'’-]+)")
# Openings of a question that say what to do with a thing, not which thing; and verbs for that.
ASKS_HOW = _form(
    r"^\W*(?:(?:please\s+)?(?:explain|tell\s+me|show\s+me)\s+)?"
    r"(?:how\s+(?:do|does|can|could|should|would)\s+(?:i|we|you|one|someone|somebody|people)\b"
    r"|how\s+to\b|what\s+(?:are\s+the\s+)?steps\b|what\s+do\s+(?:i|we|you)\s+need\b)"
)

# --- what is answered from many sources ----------------------------------------------------------

CAUSES = _form(
    r"\b(?:why|how\s+come|reasons?\s+(?:for|behind|why)|(?:what|which)\s+(?:\w+\s+)?caused?s?|causes?\s+of"
    r"|what\s+(?:led|leads|lead)\s+to|because\s+of\s+what|what\s+(?:drove|drives)|consequences?\s+of)\b"
)
EVERYTHING = _form(r"\b(?:everything\s+(?:about|on)|in\s+depth|in\s+detail)\b")

# --- the sides of a comparison --------------------------------------------------------------------

SIDES = tuple(
    _form(pattern)
    for pattern in (
        r"\b(?:differences?|distinctions?|comparison|contrast|similarit(?:y|ies)|choice)\s+between\s+"
        r"(?P<one>.+?)\s+and\s+(?P<other>.+)",
        r"\b(?:compare|contrast)\s+(?!with\b|to\b)(?P<one>.+?)\s+(?:and|with|to|versus|vs\.?|against)\s+(?P<other>.+)",
        r"\b(?:do|does|did|is|are|was|were)\s+(?P<one>.+?)\s+(?:compare[ds]?|differ(?:s|ed|ent)?"
        r"|distinguished|contrast)\s+(?:to|with|from|than)\s+(?P<other>.+)",
        r"\b(?:how|where|why|in\s+what\s+way|do|does|did)\s+(?:do\s+|does\s+|did\s+)?(?P<one>.+?)\s+and\s+"
        r"(?P<other>.+?)\s+(?:differ|compare|disagree|agree|contradict|diverge)\b.*",
        r"\badvantages?\s+of\s+(?P<one>.+?)\s+over\s+(?P<other>.+)",
        r"\b(?:prefer|choose|use)\s+(?P<one>.+?)\s+(?:over|instead\s+of|rather\s+than)\s+(?P<other>.+)",
        r"\b(?:is|are|was|were|do|does|did)\s+(?P<one>.+?)\s+(?:\w+\s+)?(?:\w+\s+)?(?:better|worse|\w{2,}er"
        r"|(?:more|less)\s+\w+(?:\s+to\s+\w+)?)(?:\s+to\s+\w+)?\s+than\s+(?P<other>.+)",
        r"\b(?:is|are)\s+(?P<one>.+?)\s+the\s+same\s+as\s+(?P<other>.+)",
        r"\bwhich\s+(?:one\s+)?(?:is|are|was|were|needs?|costs?|has|have|does|do|works?)\b[^,:?]*[,:]\s*"
        r"(?P<one>.+?),?\s+or\s+(?P<other>.+)",
        r"(?P<one>.+?)\s+(?:versus|vs\.?|compared\s+(?:to|with)|as\s+opposed\s+to)\s+(?P<other>.+)",
        r"^(?P<one>[^?,:]+?)\s+or\s+(?P<other>[^?,:]+?)(?:\?|\s*[,:–-]\s*which\b.*)$",
    )
)
# "the size of A" beside "B": what is asked about of both.
COMPARING = r"\b(?:compare|contrast)\s"
ASPECT = _form(r"^(?:the\s+)?(?P<aspect>[\w\s-]+?)\s+of\s+(?:the\s+)?(?P<side>.+)$")
SIDE_LEADING = _form(
    r"^(?:what\s+(?:is|are)|how\s+(?:does|do|did)|is|are|do|does|between|the|an?|both|either)\s+"
)
SIDE_TRAILING = re.compile(
    r"\s*(?:[?.!:;,].*|\s+[–-]\s+.*|\b(?:when|in\s+terms\s+of|with\s+respect\s+to|regarding|on\s+the"
    r"\s+(?:cost|question|topic)|about|for|in\s+(?:the|their|its)|as\s+to|alone|do|does|work|better|worse|more|less)\b.*)$",
    re.IGNORECASE | re.DOTALL,
)
