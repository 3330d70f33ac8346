"""Which of the eleven types a question has, told by its wording; the first rule that fits decides.

Rules stand in the order of how surely their words tell a type: "how many" and "over time" leave
little doubt, "which ... help" much.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from wellread.ask.understand.question_parts import sides_of
from wellread.ask.understand.source_limits import source_noun, source_plurals
from wellread.ask.understand.vocabulary import Vocabulary
from wellread.questions import Constraint, NamedEntity, QuestionType
from wellread.text.names import plural, singular

_UNITS = (
    r"(?:euros?|dollars?|pounds?|per\s*cent|percent|sats?|satoshis?|bitcoins?|seconds?|minutes?"
    r"|hours?|days?|weeks?|months?|years?|decades?|times|(?:kilo|centi|milli)?met(?:re|er)s?|miles?"
    r"|feet|kilos?|kilograms?|grams?|tonn?es?|lit(?:re|er)s?|degrees?|v?bytes?|bits?|[kmg]b"
    r"|(?:mega|kilo|giga)?watts?(?:[\s-]hours?)?|(?:kilo|mega)watt-hours?|volts?|amp[eè]res?"
    r"|decibels?|knots?|hectares?|acres?|square|cubic|pages|words|lines)"
)
_HOLDINGS = (
    r"(?:collection|archive|guide|knowledge\s+base|base|library|commons|corpus|material|glossary)"
)
_MENTIONED = r"(?:mentioned|covered|discussed|addressed|described|treated|talked\s+about|named)"
_AUXILIARY = r"(?:did|do|does|is|are|was|were|has|have|had|happened|happens|changed|made)\b"
_RELATED = (
    r"related\s+to|relates?\s+to|relation(?:ship)?s?\s+(?:between|of|with)"
    r"|connect(?:ed|ion|ions|s)?\s+(?:to|between|with|from)|link(?:s|ed)?\s+(?:to|between|from|with)"
    r"|tied\s+to|depends?\s+(?:up)?on|dependent\s+on|belongs?\s+to|see\s+also|what\s+connects"
    r"|path\s+(?:from|between)|in\s+the\s+graph|(?:is|are)\s+\S+(?:\s+\S+){0,5}\s+part\s+of"
    r"|have\s+to\s+do\s+with|^where\s+(?:is|are)\s.*\s(?:discussed|mentioned|covered|described)"
)
# With the name of an entity beside them, these ask for its relations.
_RELATING = (
    r"fund(?:s|ed)?|financ(?:es|ed)|uses?|used\s+by|implements?|implemented\s+by|owns?|owned\s+by"
    r"|runs?|operates?|operated\s+by|run\s+by|located\s+in|part\s+of|followed\s+by|follows"
    r"|(?:comes?|stands?)\s+(?:after|before|next)|refers?\s+to|referred\s+to|influenced\s+by"
    r"|founded\s+by|led\s+by|maintained\s+by|made\s+by|built\s+by"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clues:
    """What is known of a question when its type is decided.

    Attributes:
        asked: of the text, the sentences that ask.
    """

    text: str
    asked: str
    vocabulary: Vocabulary
    entities: Sequence[NamedEntity]
    constraints: Sequence[Constraint]


Rule = Callable[[Clues], str]


def _says(*patterns: str, whole: bool = False) -> Rule:
    """A rule that fits where one of the patterns does; its reason is what they found.

    Args:
        whole: also look into sentences that only lead to the question.
    """
    joined = re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)

    def rule(clues: Clues) -> str:
        match = joined.search(clues.text if whole else clues.asked)
        return " ".join(match.group().split()[:6]) if match else ""

    return rule


_PERSONA = _says(
    r"\b(?:what|how)\s+(?:would|might|could)\s+(?!you\b|i\b|we\b|it\b|they\b|one\b|happen|a\s+village)"
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
    whole=True,
)
_LISTS = _says(
    rf"\bhow\s+many\s+(?!{_UNITS}\b)",
    r"\b(?:total\s+)?(?:number|count)\s+of\b",
    r"^(?:please\s+)?count\b",
    r"\b(?:list|name|enumerate|give\s+me|show(?:\s+me)?)\s+(?:me\s+)?(?:all|every|each|the\s+full"
    r"|a\s+(?:complete|full)\s+list)\b",
    r"^(?:please\s+)?list\s+(?:the|those)\b",
    r"\ball\s+of\s+them\b",
    rf"\bhow\s+often\s+(?:was|were|is|are|has|have|did)\b.*\b(?:{_MENTIONED}|mention|come\s+up)\b",
    whole=True,
)
_TREND = _says(
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
_TEMPORAL = _says(
    r"^(?:\W*(?:and|so|but|since|until|by|from)\s+)?when\b",
    r"\b(?:what|which)\s+(?:exact\s+)?(?:year|day|date|month|week|decade|season|spring|summer|autumn"
    r"|winter|time)\b(?!\s+(?:of\s+life|zones?|warp))",
    r"\bwhat\s+(?:is|was|were)\s+the\s+(?:date|day|year|deadline)\b",
    r"\bhow\s+(?:long\s+ago|recently|soon)\b",
)
_LACKING = _says(
    r"\bunder-?\s?represented\b|\bfewest\b|\bthin(?:nest)?\s+on\b|\bleast\s+(?:about|covered)\b",
    r"\bgaps?\s+in\s+(?:the|our|your|this)\b|\bwhere\s+are\s+the\s+gaps\b|\bblind\s+spots?\b",
    r"\blacks?\s+(?:\w+\s+)?(?:entries|entry|patterns?|topics?|documents?|articles?|sources?)\b",
    r"\b(?:have|has)\s+(?:no|few)\s+(?:entry|entries|patterns?|topics?|documents?|sources?)\b",
    rf"\bmissing\s+(?:from|in)\s+(?:the|this|our|your)\s+{_HOLDINGS}\b",
    r"\b(?:for|by|in|does|do)\s+each\b.*\b(?:have|has|hold)\b",
)
_GAP = _says(
    r"^(?:so\s+)?(?:is|are|was|were)\s+there\s+(?:any\b|anything|something|anyone|anybody|examples"
    r"|studies|papers|evidence)",
    r"\b(?:do|does|have)\s+(?:we|you|they)\s+(?:have|got)\s+(?:any|anything|something|an?\b|some)",
    r"\b(?:has|did|does|is|do)\s+(?:anyone|anybody|somebody|someone|any\s+\w+)\b",
    r"^any(?:thing|one|body)\b|^any\s+\w+s\b",
    r"\banything\s+(?:on|about|said|written|known)\b|\b(?:say|said|publish\w*|written|know)\s+anything\b",
    rf"\b{_MENTIONED}\s+(?:anywhere|at\s+all|somewhere)\b",
    rf"\bhas\s+\S+(?:\s+\S+){{0,4}}\s+ever\s+(?:been\s+)?{_MENTIONED}\b",
    r"^is\s+anything\b",
)
_META = _says(
    r"\b(?:coverage|balance)\s+of\b|\bhow\s+(?:good|complete|thorough)\b.*\bcoverage\b|\bhow\s+(?:well|thoroughly|completely)\s+(?:is|are|do|does)\b.*\bcover",
    rf"\bwhat\s+(?:does|do|is\s+in)\s+(?:this|the|your|our)\s+{_HOLDINGS}\b.*(?:\bcover|\bcontain|\bhold|^)",
    rf"\b(?:what|which)\s+\w+(?:\s+\w+)?\s+(?:does|do)\s+(?:this|the|your|our)\s+{_HOLDINGS}\s+cover\b",
    r"\b(?:what|which)\s+(?:topics|areas|years|subjects|periods|themes)\s+are\s+covered\b",
    rf"\bwhat\s+is\s+(?:this|the|your)\s+{_HOLDINGS}\s+about\b|\bmain\s+areas?\s+of\s+this\b",
    r"\bwhat\s+is\s+in\s+(?:here|there|this)\s*\?*$"
    r"|\bwhat\s+(?:\w+\s+)?(?:do|does)\s+(?:you|we|it|this)\s+cover\s*\?*$",
    r"\bwhat\s+do\s+(?:you|we)\s+(?:know|have|hold)\s*\?*$|\bwhat\s+can\s+(?:you\s+tell\s+me\s+about\s*\?|i\s+ask\b)",
    r"\bwhat\s+questions\s+can\b|\bwhat\s+(?:kinds?|sorts?|types?)\s+of\s+(?:sources|documents|material)",
    r"\bhow\s+complete\s+(?:is|are)\b|\bhow\s+much\s+(?:material|content)\b|"
    r"\bdistribution\s+of\s+(?:the\s+)?(?:sources|documents|entries|material|topics|articles)\b",
)
_COMPARATIVE = _says(
    r"\bdiffer(?:s|ed|ence|ences)?\b|\bdifferent\s+(?:from|to|than)\b|\bdifferently\b",
    r"\bcompar(?:e|es|ed|ing|ison|isons)\b|\bversus\b|\bvs\b\.?|\bcontrast(?:s|ed)?\b",
    r"\b(?:more|less|fewer|better|worse|rather|\w{2,}er)\b(?:\s+\S+){0,6}\s+than\b(?!\s+\d)",
    r"\b(?:dis)?advantages?\s+(?:of\s+)?.+\bover\b|\bthe\s+same\s+as\b|\bdistinguish",
    r"\b(?:contradict|disagree|agree)\b|\bpros\s+and\s+cons\b|\bsimilarit(?:y|ies)\b",
    r"\bwhich\s+(?:one\s+)?is\s+(?:better|best|cheaper|faster|safer|more|less|\w+er)\b.*\bor\b",
    r"^(?:[^\s?,.:]+\s+){1,3}or(?:\s+[^\s?,.:]+){1,3}\s*(?:\?$|[,:–-]\s*which\b)",
)
_PLAINLY = _says(r"\bdiffer|\bcompar|\bversus\b|\bvs\b|\bcontrast|contradict|disagree")
_SYNTHESIS = _says(
    r"\bsummar(?:y|ies|i[sz]e|i[sz]ing)\b|\bsum(?:ming)?\s+up\b|\boverview\b|\bgist\b|\bin\s+short\b",
    r"\beverything\s+(?:about|on|you\s+know)\b|\btell\s+me\s+(?:more\s+)?about\b|\bin\s+general\b",
    r"\b(?:main|key|central|most\s+(?:important|notable))\s+(?:\w+\s+)?(?:points|arguments|findings"
    r"|ideas|takeaways|developments|conclusions|messages|insights|themes|lessons|results)\b",
    r"\bwhat\s+lessons\b|\blessons\s+(?:can|learn)|\bwhat\s+is\s+known\s+about\b|\bwalk\s+me\s+through\b",
    r"^recap\b|(?:^|\bwhat(?:['’]s|\s+is)\s+)(?:the\s+)?(?:story|history|background)\s+of\b|\bdescribe\s+the\s+(?:process|history)\b",
    r"^(?:explain|introduce)\b.*\bin\s+(?:general|detail)\b",
)
_OPEN = _says(
    r"\bwhat\s+(?:kinds|sorts|types)\s+of\b|\bexamples\s+of\b|\bshow\s+(?:me\s+)?examples\b",
    r"\bwhat\s+(?:are\s+some|options|alternatives|ways|approaches|tools|methods"
    r"|(?:other|different|possible)\s+\w+s)\b|\bwhat\s+\w+\s+(?:\w+\s+)?(?:are\s+there|exist)\b|\balternatives\s+to\b",
    r"^(?:find|explore|suggest|recommend|show|discover|browse)\b",
    r"\bwhat\s+(?:could|can|might)\s+(?:we|one|you|i|an?\s+\w+)\s+(?:do|try|use)\b",
    r"^who\s+(?:talks|writes|speaks|works)\b",
)


def type_of(clues: Clues) -> tuple[QuestionType, str]:
    """The type of a question, and the words that tell it (empty for the plain factual one)."""
    for name, rule in _RULES:
        reason = rule(clues)
        if reason:
            return name, reason
    return "factual", ""


def _comparative(clues: Clues) -> str:
    """A comparison; "more than" alone is none unless its sides can be told."""
    if re.match(r"\W*why\b", clues.asked, re.IGNORECASE):
        return ""
    found = _COMPARATIVE(clues)
    return found if found and (_PLAINLY(clues) or sides_of(clues.text, clues.entities)) else ""


_STRONG = re.compile(rf"\b(?:{_RELATED})\b", re.IGNORECASE)
_WEAK = re.compile(
    rf"(?<!\bto )(?<!\byou )(?<!\bi )(?<!\bwe )(?<!\bone )\b(?:{_RELATING})\b", re.IGNORECASE
)
_USE = re.compile(r"use[sd]?\s+(?:for|in|as|to)\b", re.IGNORECASE)
# "Which topics does X mention".
_OF_ENTITY = re.compile(
    r"^(?:which|what)\s+\w+(?:\s+\w+)?\s+(?:do|does|did)\s.*?\s(?P<verb>\w+)\W*$", re.IGNORECASE
)
_ASKING = re.compile(
    r"^(?:\W*(?:and|so)\s+)?(?:which|what|who|whom|where|through|is|are|how)\b", re.I
)


def _relational(clues: Clues) -> str:
    """Relation words; those that mean other things as well count beside an entity only."""
    if any(one.kind == "taxonomy" for one in clues.constraints):
        return ""
    strong = _STRONG.search(clues.text)
    if strong or not clues.entities:
        return strong.group() if strong else ""
    named = _OF_ENTITY.search(clues.text)
    if named and _is_relation(named["verb"], clues.vocabulary.relations):
        return named["verb"]
    return _weakly(clues) if _ASKING.search(clues.text) else ""


def _weakly(clues: Clues) -> str:
    """A relation word outside the names; "what is it used for" is about use, not about users."""
    for pattern in (_WEAK, _declared(clues.vocabulary.relations)):
        for match in pattern.finditer(clues.text):
            inside = any(
                one.span.start < match.end() and match.start() < one.span.end
                for one in clues.entities
            )
            if not inside and not _USE.match(clues.text[match.start() :]):
                return match.group()
    return ""


def _is_relation(verb: str, relations: tuple[str, ...]) -> bool:
    """Whether ``verb`` is a relation in another form: "does it mention" of "mentions"."""
    return bool({verb, f"{verb}s", f"{verb}es", f"{verb}d", f"{verb}ed"} & set(relations))


def _declared(relations: tuple[str, ...]) -> re.Pattern[str]:
    several = [re.escape(words) for words in relations if " " in words]
    return re.compile(rf"\b(?:{'|'.join(several)})\b" if several else r"(?!)", re.IGNORECASE)


_IS_THERE = re.compile(r"is\s+there\s+an?\s+(\w+)(?:\s+(\w+))?", re.IGNORECASE)


_COVERED = re.compile(
    r"(?:what|which)\s+(?P<noun>[\w-]+)\s+(?:are|is)\s+(?:there|covered|missing|not\s+covered)"
    r"(?:\s+(?:here|in\s+(?:here|the\s+\w+)))?\s*\?*$",
    re.IGNORECASE,
)


def _meta(clues: Clues) -> str:
    """Coverage, asked for as such, or by a dimension of the taxonomy."""
    found = _META(clues)
    asked = _COVERED.match(clues.asked)
    if found or asked is None:
        return found
    noun = asked["noun"].lower()
    known = {name.lower() for name in clues.vocabulary.dimensions}
    return asked.group() if known & {noun, plural(noun), singular(noun)} else ""


def _gap(clues: Clues) -> str:
    found = _GAP(clues)
    if found:
        return found
    one = _IS_THERE.match(clues.asked)
    known = {name.lower() for name in clues.vocabulary.entity_types}
    for noun in one.groups(default="") if one else ():
        if noun.lower() in known or source_noun(clues.vocabulary).fullmatch(noun):
            return f"is there a {noun}"
    return ""


def _exploratory(clues: Clues) -> str:
    found = _OPEN(clues)
    if found:
        return found
    nouns = {plural(name.lower()) for name in clues.vocabulary.entity_types} | {
        "entries", "projects", "practices", "initiatives", "organisations", "organizations",
        "technologies", "policies", "patterns", "proposals", "topics", "concepts", "measures",
    }  # fmt: skip
    several = "|".join(map(re.escape, [*sorted(nouns), *source_plurals(clues.vocabulary)]))
    listed = re.match(
        rf"(?:which|what)\s+(?:(?!{_AUXILIARY})\S+\s+){{0,4}}?(?:{several})\b"
        r"(?!\s+(?:\S+\s+){0,6}?(?:did|was|were)\b)",
        clues.asked,
        re.IGNORECASE,
    )
    return " ".join(listed.group().split()[:4]) if listed else ""


_RULES: tuple[tuple[QuestionType, Rule], ...] = (
    ("persona", _PERSONA),
    ("meta", _LACKING),
    ("trend", _TREND),
    ("counting", _LISTS),
    ("temporal", _TEMPORAL),
    ("gap_finding", _gap),
    ("meta", _meta),
    ("comparative", _comparative),
    ("synthesis", _SYNTHESIS),
    ("relational", _relational),
    ("exploratory", _exploratory),
)
