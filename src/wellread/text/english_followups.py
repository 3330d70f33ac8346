"""English patterns of follow-up questions, time limits, courtesies and prompt injection.

Patterns are for ``re.IGNORECASE``. Another language is another module with these names.
"""

from __future__ import annotations

import re
from functools import partial

_form = partial(re.compile, flags=re.IGNORECASE)

# --- elliptic questions ---------------------------------------------------------------------------

ALSO = _form(
    r"^(?:and|or|but|also|then|so)(?:\s+(?:also|then|what|how\s+about))?[,\s]+(?P<part>.+?)[?.!\s]*$"
)
ONLY_QUESTION_WORD = _form(
    r"^(?:(?:and|but|so|ok|okay|then)[,\s]+)?(?P<wh>why(?:\s+not)?|how|when|where|(?:by|for|with|to"
    r"|from)\s+whom|since\s+when)[?.!\s]*$"
)
# A yes-no question, or the same after a question word ("when was ...").
POLAR = re.compile(
    r"^(?P<wh>(?:when|where|why|how)\s+)?(?P<rest>(?:is|are|was|were|do|does|did|has|have|had|can|could"
    r"|will|would|should|must|may|might)\b.*)$",
    re.IGNORECASE | re.DOTALL,
)
WHAT_ABOUT = _form(
    r"^(?:(?:and|but|so|ok|okay|then)[,\s]+)?(?:what|how)\s+(?:about|of)\s+(?P<part>.+?)[?.!\s]*$"
)
EXISTS = _form(r"^(?:are|were)\s+there\s+(?:any\s+|some\s+)?(?P<noun>.*)$")
HOW_MANY = _form(r"^how\s+many\s+(?P<rest>.*)$")
WHICH_ONES = _form(
    r"^(?:(?:and|but|so|ok|okay|then)[,\s]+)?(?:(?:please\s+)?(?:list|name|show)\s+(?:me\s+)?them"
    r"|(?:what|which|who)\s+(?:are|were)\s+(?:they|these|those)(?:\s+called)?"
    r"|which(?:\s+ones?|\s+of\s+them)?(?:\s+(?:are|were)\s+(?:they|these|those))?)[?.!\s]*$"
)

# Aspects of a thing: "and the cost?" after a question about a ferry means the cost of the ferry.
ASPECTS = frozenset(
    "address advantage age aim author cause color colour cost date deadline difference duration "
    "fee height impact length location name number owner price purpose reason result risk role "
    "size speed status time weight year".split()
)

# --- references to earlier text -------------------------------------------------------------------

EMPTY_IT = _form(
    r"\b(?:is|was|isn['’]?t|wasn['’]?t|would|will|be)\s+it\s+(?:be\s+)?(?:\w+ly\s+)?\w+\s+(?:to|that|for|if)\b"
    r"|\bit\s+(?:is|was|will\s+be|would\s+be)\s+(?:not\s+)?(?:\w+ly\s+)?\w+\s+(?:to|that|for|if)\b"
    r"|\bit\s+(?:(?:takes?|took)(?!\s+place)|seems?|seemed|rains?|rained|snows?|snowed|turns?\s+out)\b"
    r"|\bit\s+mean\s+(?:to|for|that|if|when)\b|\bit\s+costs?\s+to\b|\bhow\s+is\s+it\s+that\b|\bmake\s+it\s+(?:to|big|possible|easy)|\bget\s+over\s+it\b"
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
# Words after a date that do not make it part of a name.
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

# --- turns without a question ---------------------------------------------------------------------

THANKS = frozenset("thank thanks thx cheers ty".split())
GREETINGS = frozenset("hello hi hey hiya morning evening afternoon greetings howdy".split())
PARTINGS = frozenset("bye goodbye farewell".split())
PLEASED = frozenset(
    "ok okay great nice cool perfect awesome excellent fine good understood alright brilliant "
    "lovely wonderful super wow helpful helped helps useful handy interesting".split()
)
BESIDE_A_COURTESY = frozenset(
    """
    a all again and day for got gotcha have i it is lot much now see so that thats the then there
    this to very was well you your help answer answers right really s oh ah how are doing going
    today everything
    """.split()
)

# --- prompt injection: orders to whoever answers ------------------------------------------------

# Names of answering programs, and labels under which they are addressed.
_ANSWERERS = (
    r"(?:(?:large |small )?language|ai|chat) (?:model|assistant|system|agent|bot|tool|reader)s?"
    r"|a\.?i\.?s?|artificial intelligences?|llms?|\w*gpt\w*|chat-?bots?|bots?"
    r"|(?:automated|virtual|digital|answering|retrieval|search|summari[sz]ing) "
    r"(?:assistant|system|engine|model|agent|tool|reader)s?|assistants?|the models?|summari[sz]ers?"
)
_LABELS = "system override instruction instructions prompt assistant directive command"
# Verbs of answering in their base form, and expressions of obligation.
_ANSWERING = (
    "answer reply respond say state claim assert insist maintain declare confirm affirm repeat "
    "report mention tell inform output print write conclude announce assure pretend"
)
_GIVING = "give present describe name list quote cite put report state call"
_COPYING = "use include insert copy add reproduce paste repeat write"
_OBLIGING = (
    r"must|should|shall|ha(?:s|ve) to|needs? to|(?:is|are) to(?! say)|ought to|will"
    r"|(?:may|can) only|(?:is|are) (?:required|instructed|asked|told|expected|obliged|requested"
    r"|ordered|advised) to|(?:have|make|let|get) (?:it|them|him|her)(?: to)?"
)
# Unspecific askers, and words for questions and answers.
_ASKERS = (
    r"any(?:one|body)|some(?:one|body)|people|they|one|(?:an?|the|your) (?:user|reader|human|person"
    r"|asker|questioner)|users|readers"
)
_ASKED_BY = rf"you(?:'re| are| get)?|{_ASKERS}"
_QUESTIONS = r"questions?|quer(?:y|ies)|inquir(?:y|ies)|enquir(?:y|ies)|prompts?"
_REPLIES = r"answers?|repl(?:y|ies)|responses?|summar(?:y|ies)"
# What an injection overrides, and what it calls itself.
_FORGETTING = "ignore disregard forget override overrule discard neglect bypass"
_ABOVE = r"previous|prior|earlier|above|preceding|foregoing|other|your|system|former"
_RULES = (
    r"instructions?|prompts?|rules?|guidelines?|sources?|documents?|passages?|context|evidence"
    r"|orders?|directions?|directives?|messages?|texts?"
)
_THIS_TEXT = (
    r"(?:document|page|passage|text|source|section|article|note|file|paragraph|statement"
    r"|transcript|notice|entry|sentence|website|recording|meeting)"
)


Sign = tuple[re.Pattern[str], frozenset[str]]


def _any(words: str) -> str:
    return "|".join(words.split())


def _sign(pattern: str, *words: str) -> Sign:
    """A pattern, and words of which one must occur before it is tried (empty: always tried)."""
    return _form(pattern), frozenset(each for word in words for each in word.split())


# Where an order may begin (sentence, clause, cell), and words allowed before its verb.
_BEGIN = (
    r"(?:^|[.:;,|!]\s+|\bplease,?\s+)[\"“‘(\[*_>\-\s]*"
    r"(?:(?:please|always|only|never|just|simply|instead|then|so|do not|don['’]t|you)\s+)*"
)
_MUST = (
    r"(?<!\bI )(?<!\bwe )(?<!\bhe )(?<!\bshe )"
    rf"\b(?:{_OBLIGING})\s+(?:(?:always|only|never|not|then|please)\s+)*"
)
_TO_SAY = rf"(?:{_BEGIN}|{_MUST})(?:{_any(_ANSWERING)})\b"
# "(tell) the user", "(reply) to every question about the bridge", "(say) clearly"
_WHOM = (
    r"(?:\s+(?:always|only|clearly|firmly|just|simply|in full|exactly|verbatim|confidently))?"
    rf"(?:\s+(?:to\s+)?(?:{_ASKED_BY}|them|everyone|everybody|readers|the world)\b)?"
    rf"(?:\s+(?:to\s+)?(?:all|any|every|each|the|such|this|these)\s+(?:\w+\s+)?(?:{_QUESTIONS})\b"
    r"[^.:;“\"]{0,60}?)?"
)
_CONTENT = (
    r"(?:\s+that\b|\s+with the following\b"
    r"|\s+with\b(?!\s+(?:a|an|the|your|their|his|her)\s+[a-z])|\s*:|\s+as follows"
    r"|\s+(?:only\s+|nothing but\s+|with\s+)?[\"“‘'](?:[^\"”’']*\s|(?-i:[A-Z0-9]))"
    r"|\s+(?:only\s+|nothing but\s+)?(?-i:[A-Z][\w’'-]+(?:\s+[A-Z]|[.!]?$)|\d))"
)
ORDERS_TO_SAY: tuple[Sign, ...] = (
    _sign(f"{_TO_SAY}{_WHOM}{_CONTENT}", _ANSWERING),
    _sign(
        rf"(?:{_BEGIN}|{_MUST})(?:{_any(_GIVING)})\s(?:\S+\s){{1,5}}?as\s(?!well|soon|if|you\b)"
        r"|\b(?:never|(?:do|must|should|shall|may|can)\s?n(?:ot|['’]t))\s"
        rf"(?:{_any(_ANSWERING)}|{_any(_GIVING)})\b[^.;]{{1,80}}?\s(?:other than|than|except)\s",
        _ANSWERING,
        _GIVING,
    ),
    _sign(
        rf"{_BEGIN}(?:{_any(_COPYING)})\s(?:only\s)?"
        r"(?:this|the following|these|exactly|that)\s?(?:exact\s)?"
        r"(?:sentences?|words?|text|answer|lines?|statements?|phrases?|wording|in)\b",
        _COPYING,
    ),
)
BEING_ASKED = _sign(
    rf"\b(?:when(?:ever)?|if|once|should|whatever|whoever|anyone who|who|as)\s"
    rf"(?:ever\s)?(?:(?:{_ASKED_BY})\s)?(?:is\s|are\s)?(?:ever\s)?"
    rf"(?:asked?|asks|asking|quer(?:y|ied|ies)|questioned|prompted|wants? to know)\b"
    rf"(?!\s+(?:for|to)\b)"
    rf"|\b(?:any|all|every|each)\s(?:{_QUESTIONS})\b|\b(?:such|to|on)\s(?:the\s)?(?:{_QUESTIONS})\s"
    r"(?:about|on|regarding|concerning|of|relating|that|which|as to)\b"
    rf"|\b(?:if|when(?:ever)?|where)\s(?:the|an?|any)\s(?:{_QUESTIONS})\s"
    r"|\b(?:if|when(?:ever)?|where)\s[^.,;]{1,40}\s(?:is|are|gets?)\s(?:mentioned|brought up)\b"
    rf"|(?:{_BEGIN}|{_MUST})(?:tell|inform|assure)\s(?:{_ASKERS})\b",
    "ask asked asks asking query queries queried questioned question questions prompt prompted",
    "prompts know inquiry inquiries enquiry enquiries mentioned brought tell inform assure",
)
OWN_REPLY = _sign(
    rf"\byour\s(?:\w+\s)?(?:{_REPLIES}|outputs?|context)\b"
    rf"|\b(?:in\s(?:every|each|any)|the (?:only|sole|correct|right|true|final|expected|accepted))"
    rf"\s(?:{_REPLIES})\b|\b(?:{_REPLIES})\s(?:that\s)?you\s(?:may|can|must|should|will|are)\b",
    "answer answers reply replies response responses summary summaries output outputs context",
)
TO_A_PROGRAM = _sign(
    rf"\b(?:{_ANSWERERS})\b(?!['’]s\b)(?=\s+(?:must|should|shall|ha[sv]e?|are|is|will|may"
    r"|never|always|only|reading|quoting|using|citing|summari[sz]ing|processing|that|which|who"
    r"|answering|parsing|indexing)\b|\s*[,:.!]|$)"
)
SPOKEN_TO = _sign(
    rf"\b(?:dear|attention|note to|notice to|message (?:to|for)|hey|hello|to all)\s(?:\w+\s)?"
    rf"(?:{_ANSWERERS})\b|\bif you are an?\s(?:\w+\s)?(?:{_ANSWERERS})\b",
    "dear attention note notice message hey hello all if",
)
ORDER_LABEL = _sign(
    rf"^[\W_]*(?:(?:new|hidden|secret|important|urgent|updated)\s)?(?:{_any(_LABELS)})"
    r"(?:\s(?:prompt|message|note|update|override|instructions?))?\s*[:\]>–—]",
    _LABELS,
    "instruction",
)
READING_THIS = _sign(
    rf"\b(?:reads?|reading|quot(?:es?|ing)|us(?:es?|ing)|cit(?:es?|ing)|process(?:es|ing)?"
    rf"|summari[sz](?:es?|ing)|index(?:es|ing)?|pars(?:es?|ing)|accept|trust|believe|obey)\sthis\s{_THIS_TEXT}",
    "this",
)
NEW_PART = _sign(
    r"\b(?:from now on|from here on|henceforth)\b|\byou are (?:now|no longer)\b"
    rf"|{_BEGIN}(?:act as|pretend|role-?play)\b",
    "now here henceforth longer act pretend role roleplay",
)
FORGETTING = _sign(
    rf"{_BEGIN}(?:{_any(_FORGETTING)})\s"
    rf"(?:(?:all|any|every|each|of|the|these|those|and)\s)*(?:(?:{_ABOVE})\s(?:\w+\s)?"
    rf"(?:{_RULES})\b(?!\sof\b)|(?:{_RULES})\s(?:above|before|so far|you (?:were|have))\b"
    r"|everything\s(?:you|above|before|else|said|that came)\b"
    r"|what(?:ever)? you (?:were|have|know))",
    _FORGETTING,
)
SOLE_TRUTH = _sign(
    r"\b(?:treat|accept|regard|take|consider)\s(?:\w+\s){0,3}?as\s(?:an?\s|the\s)?(?:\w+\s)?"
    r"(?:fact|truth|true|correct|authoritative|final|proven)\b"
    rf"|\b(?:the )?(?:sole|only|absolute)\s(?:\w+\s)?(?:truth|fact)\b"
    r"|\bwithout (?:checking|question(?:ing)?|verif(?:ying|ication))\b"
    rf"|\bthis\s{_THIS_TEXT}\s(?:\w+\s)?(?:outranks|overrides|overrules|trumps|prevails over|takes "
    r"(?:precedence|priority))\b",
    "fact truth true correct authoritative final proven without this",
)
UNIVERSAL = _form(
    r"\b(?:always|never|verbatim|word for word|no matter|nothing but|nothing else|in every case"
    r"|under all circumstances|without exception|only)\b"
)
ANNOUNCING = _form(
    r":\W*$|\bas follows\b|\bthe following\b|\bthis (?:sentence|answer|text)\b|\bthese words\b"
)
POINTING_BACK = _form(
    rf"\b(?:repeat|say|state|quote|use)\s(?:this|it|so)\b|^\W*(?:this|that)\s(?:is|was)\sthe\s"
    rf"(?:only|sole|correct|right|true)\s(?:{_REPLIES})\b"
)

# --- prompt injection: tool calls and orders to search -------------------------------------------

# A tool call in this program's syntax or in the syntax of models.
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
