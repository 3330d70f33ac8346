"""English words and patterns of questions: sources, people, names and other things.

Patterns are for ``re.IGNORECASE``; words are in lower case. Another language is another module with
these names. General word lists are in ``english.py``.
"""

from __future__ import annotations

import re
from functools import partial

from babel import Locale

from wellread.text.english import MONTHS
from wellread.types import Kind

_form = partial(re.compile, flags=re.IGNORECASE)

# --- everyday words -------------------------------------------------------------------------------

# Everyday words of questions, which name an entity only if used as a name. The list is short, so
# that most words do name an entity ("circle", if there is an entity "Circle").
EVERYDAY = frozenset(
    """
    account action activity address advice aim alternative amount annual answer approach
    area argument article aspect author background base basis benefit board book broad budget
    business call case cause chance change changelog chapter choice claim collection comment common
    company comparison concept concern condition content context contract contrast cost council
    country coverage current daily data date day deal decision default definition detail
    development difference direction discussion document domain draft effect effort energy entry
    episode event evidence example experience expert explanation fact factor feature figure file
    finding focus food form format free function fund future gap general glossary goal group
    growth guide harm health help history host house idea impact implementation individual
    information interest introduction issue item job key kind law lead learning lesson level
    license limit line link list location main map market material matter mean meaning measure
    media meeting member mention message method metric mind mining model money month movement name
    nature network new news newsletter note number offer office open opinion
    option order organisation organization outcome output overview owner page paper part party
    past pattern people period person place plan point policy position power practice present
    price principle problem process product program programme project proposal public purpose
    quality question range rate reason recap recent record relation release report
    research resource response result review risk role round rule safe sale scale school science
    score sec section sector sense series service set side sign simple site situation social
    solution source space speaker spread stage standard start state statement status step stock
    story strategy structure study style subject summary support system table talk target task
    team technology term test text thing time today tool topic total tour tradition transcript
    transport trend trial type unit update use user utility value vary version video view vote
    water way week work world year
    acknowledgment appendix disclaimer links values terms
    """.split()
)
# Words after or before which an everyday word is used as a name: "what is a role?".
BEFORE_NAME = frozenset(
    """
    a about an and are between called concept define describe do does explain from is mean means
    of on or pattern than term to topic versus vs was were with
    """.split()
)
AFTER_NAME = frozenset(
    """
    and are be become can cannot compare compared compares differ differs from has have is mean
    means must or related relate relates should to used versus vs was were without work works with
    """.split()
)

# --- sources and the people behind them -----------------------------------------------------------

LANGUAGES = {
    Locale("en").languages[code].lower(): code
    for code in (
        "en de fr es it pt nl da sv no fi pl cs ru uk tr ar he hi zh ja ko el hu ro".split()
    )
}
_TONGUE = "|".join(LANGUAGES)
IN_LANGUAGE = _form(
    rf"\b(?P<of>(?P<tongue>{_TONGUE})(?P<marked>[-\s]language)?)\s+(?P<noun>\w+)"
    rf"|\b(?P<before>\w+)\s+(?P<in>(?:(?:written|published|asked|recorded)\s+)?in\s+(?P<said>{_TONGUE}))\b"
)
ANY_SOURCE = (
    "documents?|sources?|entries|items|materials?|texts?|posts?|publications?|reports?|notices?|"
    "records?|issues|editions|meetings?|minutes(?=\\s+(?:of|from)\\b)"
)
# Nouns for each kind of source.
SOURCE_NOUNS: dict[Kind, list[str]] = {
    "article": [
        *"article news press".split(),
        *("news article", "news item", "news story", "news report", "blog post"),
    ],
    "paper": ["paper", "research paper", "study", "preprint"],
    "transcript": [
        *"transcript recording podcast episode recap".split(),
        *("podcast episode", "recap podcast"),
    ],
    "page": ["web page"],
    "qa": ["past question", "earlier question", "previous question"],
}
MASSES = frozenset({"news", "press"})  # mass nouns, without a plural
# Words before a noun for sources that means sources in general.
BEFORE_SOURCES = frozenset(
    f"""
    a about all among an and any are by can could did do does each every few find from give had has
    have how i in is latest list many me more most new newer newest no of older oldest on or other
    our published read recent recently see several should show some than that the their there these
    this those through was we were what where which with would your count
    {" ".join(LANGUAGES)}
    language two three four five six seven eight nine ten twelve last next first
    {" ".join(MONTHS)}
    """.split()
)
# Words that single out one recording: "in the recording that Ada made".
NAMED = r"(?:that|which|made|called|named)"
# Words before a taxonomy value under which something is filed.
LABELLED = frozenset("labelled labeled marked tagged".split())
FILED = frozenset("filed listed classed grouped".split())
ENTRIES = frozenset(
    """
    entry item topic project practice initiative pattern example case measure organisation
    organization technology policy solution tool approach concept term activity
    """.split()
)
ASKED_OF = ("do", "does", "did", "has", "have", "had", "would", "might", "could", "will")
SAYING = (
    r"(?:say|says|said|saying|mention|mentions|mentioned|explain|explains|explained|argue|argues"
    r"|argued|think|thinks|thought|claim|claims|claimed|describe|describes|described|talk|talks"
    r"|talked|discuss|discusses|discussed|suggest|suggests|suggested|recommend|recommends"
    r"|recommended|point|points|pointed|ask|asks|asked|apologi[sz]e|apologi[sz]es|apologi[sz]ed"
    r"|propose|proposes|proposed|tell|tells|told|answer|answers|answered|comment|comments|commented"
    r"|object|objects|objected|respond|responds|responded|reply|replies|replied|believe|believes"
    r"|believed|disagree|disagrees|disagreed|agree|agrees|agreed|speak|speaks|spoke|admit|admits"
    r"|admitted|warn|warns|warned|stress|stressed|note|notes|noted|remark|remarks|remarked|predict"
    r"|predicts|predicted|brings?\s+up|brought\s+up|criticise|criticised|criticize|criticized|raise|raised|complain|complained)"
)
# Directly before a name: the speaker of a statement, or the person in a recording.
ACCORDING_TO = _form(
    r"\b(?:according\s+to|going\s+by|as\s+told\s+by|in\s+the\s+words\s+of|per)\s+$"
)
HEARD = _form(
    r"\b(?:episodes?|recaps?|interviews?|transcripts?|podcasts?|talks?|recordings?|conversations?)"
    r"\s+(?:with|by|of|featuring)\s+$"
)
WRITING = (
    r"(?:(?:co-?)?(?:write|writes|wrote|written|author|authored)"
    r"|(?:(?:an?|the|one\s+of\s+the)\s+)?(?:first\s+|lead\s+)?(?:co-?)?authors?\s+of"
    r"|report|reports|reported|publish|publishes|published|find|finds|found|conclude|concludes|concluded|state|states|stated|measure|measured"
    r"|show|shows|showed)"
)
WORKS = (
    r"(?:articles?|papers?|stud(?:y|ies)|notices?|posts?|reports?|pieces?|columns?|items?|works?"
    r"|texts?|publications?|newsletters?|documents?|books?|essays?|stor(?:y|ies)|reporting)"
)
OPINIONS = (
    r"(?:views?|opinions?|position|stance|takes?|arguments?|explanations?|comments?|words|remarks?"
    r"|statements?|answers?|reply|objections?|concerns?|criticism|advice|thoughts)"
)

# --- kinds of names -------------------------------------------------------------------------------

# Last words of names that are not people.
NO_PERSONS = frozenset(
    """
    academy act agency agreement airport album alliance archive army association authority award
    awards bank battle bay board book bridge brothers cafe center centre church city cloud club
    college commission committee community company conference cooperative corporation council county
    court cup database department district empire engine festival film foundation fund garden group
    hall hospital house inc initiative institute island kingdom lab lake law league library ltd
    ministry mountain movement museum network newsletter north office opera orchestra organisation
    organization palace park party plan platform press prize programme program project protocol
    records report republic research review river road rules school sea series server service
    services show society software song south square state states station street studio studios
    summit system team theater theatre times tour town treaty trust union university valley village
    war west works workshop world
    """.split()
)
GROUPS = frozenset(
    """
    army association band brothers club committee company council department family group league
    ministry orchestra party people police society staff team tribe union members
    """.split()
)
# Ordinal words.
ORDINALS = frozenset(
    "first second third fourth fifth sixth seventh eighth ninth tenth last next".split()
)
# Pronoun to the main pronoun of its sort.
PRONOUNS = {
    word: sort
    for sort, words in {
        "he": "he him his",
        "she": "she her hers",
        "it": "it its",
        "they": "they them their theirs",
        "this": "this that these those",
    }.items()
    for word in words.split()
}
# Pattern parts: verbs and nouns of reporting.
TOLD_THEN = r"""
    report(?:ed|s)? publish(?:ed)? wr(?:ote|itten|ites?) posted appeared said say says told
    talk(?:s|ed)? discuss(?:es|ed|ions?)? mention(?:s|ed)? cover(?:s|ed|age) issued news headlines?
    interviews? episodes? meetings? newsletters? articles? posts? papers?
    """.split()
NEWS_ASKED = (
    "latest", "newest", "news", "recent(?:ly)?", "happen(?:ed|ing|s)?", "going on",
    "what(?:'s| is) new", "new developments?", "updates?", "headlines?", "lately", "these days",
)  # fmt: skip
ASKING_ON = """
    who whom whose what when where why which how is are was were does do did can has have
    """.split()
# The start of another question that could be asked by itself ("and how much does it cost").
_MODAL = r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|may|might|must)"
_NOBODY_ASKED = r"(?!(?:they|he|she|it|we|you|i|the|this|that|their|his|her|its|to)\b)"
ANOTHER_QUESTION = _form(
    rf"(?:(?<=\?)\s+(?:and\s+|also\s+|but\s+)?(?=(?:{'|'.join(ASKING_ON)}|list|name|tell|show)\b)"
    r"|[,;]?\s+and\s+(?:also\s+)?"
    rf"(?=(?:what|when|where|why|how|whom|whose)\s+{_MODAL}\b"
    rf"|(?:what|which|whose|how)\s+(?:[\w'’-]+\s+){{1,2}}?{_MODAL}\b"
    rf"|how\s+(?:many|much)\s+{_NOBODY_ASKED}\w|who\s+{_NOBODY_ASKED}\w))"
)
OPENS_A_QUESTION = _form(
    rf"\W*(?:and\s+|so\s+|but\s+|then\s+|(?:in|on|at|by|for|from|to|of|with)\s+)?"
    rf"(?:{'|'.join(ASKING_ON)}|list|name|tell|show|give|could|would|will)\b"
)
CLAUSES = "that which who how why when where what if whether this it".split()

# Asks for the meaning of an abbreviation.
STANDS_FOR = _form(
    r"\bwhat (?:do|does|did|is|are) (?:the )?(?:(?:letters|acronym|abbreviation|initials) )?\W?"
    r"(?P<short>[\w-]{2,})\W? (?:stand for|short for|mean)\b",
)


# --- what a text says about itself --------------------------------------------------------------

# Verbs by which a text announces its content, and its results.
PRESENTING = (
    r"(?<!as )\b(?:we|this (?:paper|article|report|study|work|talk|guide)|the (?:paper|authors?))"
    r"(?: \w+ly| also| first| then| here| therefore){0,2} "
    r"(?:present|propose|introduce|describe|report|develop|examine|investigate|study|argue|offer"
    r"|provide|ask|explore|consider|survey|review|analy[sz]e|compare|evaluate)(?:e?s)?\b"
)
RESULTING = (
    r"\b(?:find|finds|found|show|shows|showed|demonstrates?|outperforms?|outperformed|achieves?"
    r"|achieved|improv(?:es?|ed|ing)|reduc(?:es?|ed)|exceeds?|exceeded|state-of-the-art|concludes?"
    r"|suggests?|increased|survived|cost|failed|raised)\b"
)
# Parts of a text that say nothing about its topic.
BACK_MATTER = frozenset(
    """
    abstract acknowledgements acknowledgments acknowledgement acknowledgment appendix appendices toc
    bibliography changelog contents introduction license licence references transcript footnotes
    """.split()
)
# Before a name with an apposition: "we present Skiff, a boat".
PRESENTED = r"\b(?:present|introduc|propos|describ|develop|releas|call|nam)(?:e|es|s|ed)?\s+"
# Marks of a bibliography entry.
REFERENCE = _form(
    r"\barxiv\s+preprint\b|\bin\s+proceedings\s+of\b|\bpages\s+\d+\s*[–-]\s*\d+"
    r"|\bcorr,\s*abs/|\bdoi:\s*10\."
)
