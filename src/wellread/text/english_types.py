"""The English forms of questions that tell their type beyond doubt, and the sides of comparisons.

Patterns are for ``re.IGNORECASE``. Another language is another module with these names.
"""

from __future__ import annotations

import re
from functools import partial

_form = partial(re.compile, flags=re.IGNORECASE)

# --- parts of the forms ---------------------------------------------------------------------------

AMOUNT_UNITS = (
    r"(?:euros?|dollars?|pounds?|per\s*cent|percent|sats?|satoshis?|bitcoins?|seconds?|minutes?"
    r"|hours?|days?|weeks?|months?|years?|decades?|times|(?:kilo|centi|milli)?met(?:re|er)s?|miles?"
    r"|feet|kilos?|kilograms?|grams?|tonn?es?|lit(?:re|er)s?|degrees?|v?bytes?|bits?|[kmg]b"
    r"|(?:mega|kilo|giga)?watts?(?:[\s-]hours?)?|(?:kilo|mega)watt-hours?|volts?|amp[eè]res?"
    r"|decibels?|knots?|hectares?|acres?|square|cubic|pages|words|lines)"
)
HOLDINGS = (
    r"(?:collection|archive|guide|knowledge\s+base|base|library|commons|corpus|material|glossary)"
)
OUR_COVERAGE = _form(
    r"\b(?:our|your)\s+(?P<thing>(?P<topic>(?:(?!of\b|and\b)[\w-]+\s+){0,2}[\w-]+)\s+coverage)\b"
)
# What a question about the base itself speaks of.
OF_THE_BASE = (
    r"\b(?:collections?|archives?|librar(?:y|ies)|knowledge|bases?|commons|corpus|materials?|glossary"
    r"|holdings?|stock|stored?|sources?|documents?|entr(?:y|ies)|files?|categor(?:y|ies)|dimensions?"
    r"|coverage|covered?|cells?|here|you|your|our|we)\b"
)
MENTIONED = r"(?:mentioned|covered|discussed|addressed|described|treated|talked\s+about|named)"
ASKING_VERB = r"(?:did|do|does|is|are|was|were|has|have|had|happened|happens|changed|made)\b"

# --- forms by type --------------------------------------------------------------------------------

PERSONA = (
    r"\b(?:what|how)\s+(?:would|might|could)\s+(?!you\b|i\b|we\b|it\b|they\b|one\b|happen)"
    r"(?:\S+\s+){1,6}?(?:have\s+)?(?:say|said|think|thought|argue|recommend|respond|react|reply"
    r"|explain|answer|justify|advise|suggest|feel|propose|see|view|judge|defend|comment)\b",
    r"\bwhat\s+advice\s+would\b",
    r"^would\s+(?!you\b|i\b|we\b|it\b|they\b|there\b|this\b|that\b)(?:\S+\s+){1,5}?(?:say|think|agree"
    r"|recommend|support|oppose|approve|object|like|argue|endorse|back|accept|welcome|reject)\b",
    r"^(?:answer|speak|respond|reply|talk|write)\s+as\b",
    r"^as\s+(?:an?|the)\s[^,]+,\s+(?:what\s+|how\s+)?(?:would|do)\b",
    r"\b(?:imagine|pretend|suppose)\s+(?:that\s+)?you(?:\s+are|['’]re|\s+were)\b",
    r"\bfrom\s+(?:\S+\s+){0,3}\S+['’]s?\s+(?:point\s+of\s+view|perspective|viewpoint|standpoint)\b",
    r"\bfrom\s+the\s+(?:point\s+of\s+view|perspective|viewpoint|standpoint)\s+of\b",
    r"\bin\s+the\s+(?:shoes|role)\s+of\b",
)
LISTS = (
    rf"\bhow\s+many\s+(?!{AMOUNT_UNITS}\b)",
    r"\b(?:total\s+)?(?:number|count)\s+of\b",
    r"^(?:please\s+)?count\b",
    r"\b(?:list|name|enumerate|give\s+me|show(?:\s+me)?)\s+(?:me\s+)?(?:all|every|each|the\s+full"
    r"|a\s+(?:complete|full)\s+list)\b",
    r"^(?:please\s+)?list\s+(?:the|those)\b",
    r"\ball\s+of\s+them\b",
    rf"\bhow\s+often\s+(?:was|were|is|are|has|have|did)\b.*\b(?:{MENTIONED}|mention|come\s+up)\b",
)
TRENDS = (
    r"\b(?:over|with|through)\s+time\b",
    r"\bover\s+the\s+(?:past\s+|last\s+)?(?:years|months|weeks|decades?)\b",
    r"\bhow\b.*\bevolved?\b|^(?:the\s+)?evolution\s+of\b|\btimeline\s+of\b",
    r"\btrends?\s+(?:in|of|for|around)\b|\bwhat\s+(?:is|are)\s+the\s+trends?\b",
    r"^(?:the\s+)?development\s+of\b",
    r"\bmore\s+and\s+more\b|\bless\s+and\s+less\b|\bmore\s+or\s+less\s+often\b",
    r"\bhow\s+(?:has|have|had|did|do|does)\b.*\b(?:chang(?:e|ed)|develop(?:ed)?|shift(?:ed)?"
    r"|unfold(?:ed)?|gr(?:ow|ew|own)|increased?|decreased?|declined?|progress(?:ed)?|var(?:y|ied))\b"
    r"(?=\s*(?:$|\?|over|since|from|between|in|during|after|within|through|across|recently|lately))",
    r"^(?:is|are|has|have|was|were)\b.*\b(?:growing|increasing|increased|declin(?:ing|ed)|rising"
    r"|falling|getting|becom(?:e|ing)|losing|gaining|grown|fallen|gained|lost)\b(?!\s+(?:a|the)\b)",
    r"\bwhat\s+(?:has\s+)?changed\b.*\bsince\b",
    r"\b(?:mentions?|talk|interest|reports?)\b.*\bper\s+(?:day|week|month|quarter|year)\b",
    r"\bwhich\s+\w+\s+(?:have\s+)?(?:gained|lost|grew|rose|fell)\b",
)
MOMENTS = (
    r"^(?:\W*(?:and|so|but|since|until|by|from)\s+)?when\b",
    r"\b(?:what|which)\s+(?:exact\s+)?(?:year|day|date|month|week|decade|season|spring|summer|autumn"
    r"|winter|time)\b(?!\s+(?:of\s+life|zones?|warp))",
    r"\bwhat\s+(?:is|was|were)\s+the\s+(?:date|day|year|deadline)\b",
    r"\bhow\s+(?:long\s+ago|recently|soon)\b",
)
LACKING = (
    r"\bunder-?\s?represented\b|\bfewest\b|\bthin(?:nest)?\s+on\b|\bleast\s+(?:about|covered)\b",
    r"\bgaps?\s+in\s+(?:the|our|your|this)\b|\bwhere\s+are\s+the\s+gaps\b|\bblind\s+spots?\b",
    r"\blacks?\s+(?:\w+\s+)?(?:entries|entry|patterns?|topics?|documents?|articles?|sources?)\b",
    r"\b(?:have|has)\s+(?:no|few)\s+(?:entry|entries|patterns?|topics?|documents?|sources?)\b",
    rf"\bmissing\s+(?:from|in)\s+(?:the|this|our|your)\s+{HOLDINGS}\b",
    r"\b(?:for|by|in|does|do)\s+each\b.*\b(?:have|has|hold)\b",
)
GAPS = (
    r"^(?:so\s+)?(?:is|are|was|were)\s+there\s+(?:any\b|anything|something|anyone|anybody|examples"
    r"|studies|papers|evidence)",
    r"\b(?:do|does|have)\s+(?:we|you|they)\s+(?:have|got)\s+(?:any|anything|something|an?\b|some)",
    r"\b(?:has|did|does|is|do)\s+(?:anyone|anybody|somebody|someone|any\s+\w+)\b",
    r"^any(?:thing|one|body)\b|^any\s+\w+s\b",
    r"\banything\s+(?:on|about|said|written|known)\b|\b(?:say|said|publish\w*|written|know)\s+anything\b",
    rf"\b{MENTIONED}\s+(?:anywhere|at\s+all|somewhere)\b",
    rf"\bhas\s+\S+(?:\s+\S+){{0,4}}\s+ever\s+(?:been\s+)?{MENTIONED}\b",
    r"^is\s+anything\b",
)
COVERAGE = (
    rf"\b(?:coverage|balance)\s+of\b|{OUR_COVERAGE.pattern}|\bhow\s+(?:good|complete|thorough)\b.*\bcoverage\b|\bhow\s+(?:well|thoroughly|completely)\s+(?:is|are|do|does)\b.*\bcover",
    rf"\bwhat\s+(?:does|do|is\s+in)\s+(?:this|the|your|our)\s+{HOLDINGS}\b.*(?:\bcover|\bcontain|\bhold|^)",
    rf"\b(?:what|which)\s+\w+(?:\s+\w+)?\s+(?:does|do)\s+(?:this|the|your|our)\s+{HOLDINGS}\s+cover\b",
    r"\b(?:what|which)\s+(?:topics|areas|years|subjects|periods|themes)\s+are\s+covered\b",
    rf"\bwhat\s+is\s+(?:this|the|your)\s+{HOLDINGS}\s+about\b|\bmain\s+areas?\s+of\s+this\b",
    r"\bwhat\s+is\s+in\s+(?:here|there|this)\s*\?*$"
    r"|\bwhat\s+(?:\w+\s+)?(?:do|does)\s+(?:you|we|it|this)\s+cover\s*\?*$",
    r"\bwhat\s+do\s+(?:you|we)\s+(?:know|have|hold)\s*\?*$|\bwhat\s+can\s+(?:you\s+tell\s+me\s+about\s*\?|i\s+ask\b)",
    r"\bwhat\s+questions\s+can\b|\bwhat\s+(?:kinds?|sorts?|types?)\s+of\s+(?:sources|documents|material)",
    r"\bhow\s+complete\s+(?:is|are)\b|\bhow\s+much\s+(?:material|content)\b|"
    r"\bdistribution\s+of\s+(?:the\s+)?(?:sources|documents|entries|material|topics|articles)\b",
)
COMPARISONS = (
    r"\bdiffer(?:s|ed|ence|ences)?\b|\bdifferent\s+(?:from|to|than)\b|\bdifferently\b",
    r"\bcompar(?:e|es|ed|ing|ison|isons)\b|\bversus\b|\bvs\b\.?|\bcontrast(?:s|ed)?\b",
    r"\b(?:more|less|fewer|better|worse|rather|\w{2,}er)\b(?:\s+\S+){0,6}\s+than\b(?!\s+\d)",
    r"\b(?:dis)?advantages?\s+(?:of\s+)?.+\bover\b|\bthe\s+same\s+as\b|\bdistinguish",
    r"\b(?:contradict|disagree|agree)\b|\bpros\s+and\s+cons\b|\bsimilarit(?:y|ies)\b",
    r"\bwhich\s+(?:one\s+)?is\s+(?:better|best|cheaper|faster|safer|more|less|\w+er)\b.*\bor\b",
    r"^(?:[^\s?,.:]+\s+){1,3}or(?:\s+[^\s?,.:]+){1,3}\s*(?:\?$|[,:–-]\s*which\b)",
)
PLAIN_COMPARISONS = (r"\bdiffer|\bcompar|\bversus\b|\bvs\b|\bcontrast|contradict|disagree",)
SUMMARIES = (
    r"\bsummar(?:y|ies|i[sz]e|i[sz]ing)\b|\bsum(?:ming)?\s+up\b|\boverview\b|\bgist\b|\bin\s+short\b",
    r"\beverything\s+(?:about|on|you\s+know)\b|\btell\s+me\s+(?:more\s+)?about\b|\bin\s+general\b",
    r"\b(?:main|key|central|most\s+(?:important|notable))\s+(?:\w+\s+)?(?:points|arguments|findings"
    r"|ideas|takeaways|developments|conclusions|messages|insights|themes|lessons|results)\b",
    r"\bwhat\s+lessons\b|\blessons\s+(?:can|learn)|\bwhat\s+is\s+known\s+about\b|\bwalk\s+me\s+through\b",
    r"^recap\b|(?:^|\bwhat(?:['’]s|\s+is)\s+)(?:the\s+)?(?:story|history|background)\s+of\b|\bdescribe\s+the\s+(?:process|history)\b",
    r"^(?:explain|introduce)\b.*\bin\s+(?:general|detail)\b",
)
OPEN = (
    r"\bwhat\s+(?:kinds|sorts|types)\s+of\b|\bexamples\s+of\b|\bshow\s+(?:me\s+)?examples\b",
    r"\bwhat\s+(?:are\s+some|options|alternatives|ways|approaches|tools|methods"
    r"|(?:other|different|possible)\s+\w+s)\b|\bwhat\s+\w+\s+(?:\w+\s+)?(?:are\s+there|exist)\b|\balternatives\s+to\b",
    r"^(?:find|explore|suggest|recommend|show|discover|browse)\b",
    r"\bwhat\s+(?:could|can|might)\s+(?:we|one|you|i|an?\s+\w+)\s+(?:do|try|use)\b",
    r"^who\s+(?:talks|writes|speaks|works)\b",
)
# What is listed under such names in any base.
THINGS = frozenset(
    "entries projects practices initiatives organisations organizations technologies policies "
    "patterns proposals topics concepts measures".split()
)
RELATED = (
    r"related\s+to|relates?\s+to|relation(?:ship)?s?\s+(?:between|of|with)"
    r"|connect(?:ed|ion|ions|s)?\s+(?:to|between|with|from)|link(?:s|ed)?\s+(?:to|between|from|with)"
    r"|tied\s+to|depends?\s+(?:up)?on|dependent\s+on|belongs?\s+to|see\s+also|what\s+connects"
    r"|path\s+(?:from|between)|in\s+the\s+graph|(?:is|are)\s+\S+(?:\s+\S+){0,5}\s+part\s+of"
    r"|have\s+to\s+do\s+with|^where\s+(?:is|are)\s.*\s(?:discussed|mentioned|covered|described)"
)
# With the name of an entity beside them, these ask for its relations.
RELATING = (
    r"fund(?:s|ed)?|financ(?:es|ed)|uses?|used\s+by|implements?|implemented\s+by|owns?|owned\s+by"
    r"|runs?|operates?|operated\s+by|run\s+by|located\s+in|part\s+of|followed\s+by|follows"
    r"|(?:comes?|stands?)\s+(?:after|before|next)|refers?\s+to|referred\s+to|influenced\s+by"
    r"|founded\s+by|led\s+by|maintained\s+by|made\s+by|built\s+by"
)
ASKING_RELATIONS = _form(
    r"^(?:\W*(?:and|so)\s+)?(?:which|what|who|whom|where|through|is|are|how)\b"
)

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
