"""Core lists of English words: closed classes, numbers, units and others.

All word lists of Wellread are in the ``english*`` modules. A list is named for what its words share
in grammar or use, never for a question that it helps. Words are in lower case. Another language is
another module with these names.
"""

from __future__ import annotations

from babel import Locale

_LOCALE = Locale("en")

# --- the calendar ----------------------------------------------------------------------------

MONTHS = tuple(name.lower() for name in _LOCALE.months["format"]["wide"].values())
WEEKDAYS = tuple(_LOCALE.days["format"]["wide"][day].lower() for day in range(7))  # from Monday


# --- closed classes --------------------------------------------------------------------------

# Articles, prepositions, pronouns, auxiliaries and question words, found in every text.
FUNCTION_WORDS = frozenset(
    """
    a about an and are as at be been but by can could did do does for from had has have he her his
    how i if in into is it its no not of on or our she should such than that the their then there
    these they this to was we were what when where which who why will with would you your
    """.split()
)
# Function words and the words in which questions are phrased, which say nothing about the topic.
STOP_WORDS = FUNCTION_WORDS | frozenset(
    """
    above after again against all also am any aren't because before being below between both
    cannot can't couldn't didn't doesn't doing don't down during each else ever few further get
    gets give gives given got hadn't hasn't haven't having here hers herself him himself however
    isn't it's itself just know let like made make makes many may me might more most much must
    my myself nor now off once one only other ours ourselves out over own per please said same
    say says shall shouldn't so some tell that's theirs them themselves there's those through
    thus too under until up upon us use used using very via wasn't weren't what's while whether
    whom whose within without won't wouldn't yes yet yours yourself explain describe happen
    happened happens actually really there've i'm you're we're they're let's anything something
    """.split()
)
NEGATIONS = frozenset(
    "no not never none nobody nothing neither nor cannot without lacks lacked fails failed "
    "unable denied denies rejected refused hardly barely".split()
)

# Number words that do not count exactly, or are parts of other number words.
LOOSE_NUMBERS = frozenset("one first second third hundred thousand million twice zero".split())

# Verbs that report speech.
SAYING = """
    said says say saying stated states argued argues argue explained explains explain noted notes
    claimed claims claim suggested suggests suggest mentioned mentions mention believes believed
    believe thinks thought think told tells asked asks replied replies answered answers added adds
    warned warns pointed points stressed stresses emphasised emphasises emphasized emphasizes
    proposed proposes recommended recommends recommend described describes reported reports
    admitted admits agreed agrees disagreed disagrees concluded concludes confirmed confirms
    insisted insists announced announces observed observes remarked remarks promised promises
    wants wanted prefers preferred expects expected hopes hoped fears feared denied denies
    objected objects wondered wonders clarified clarifies predicted predicts estimates estimated
""".split()

# Offices held by one person at a time.
OFFICES = (
    *("mayor", "chair", "chairman", "chairwoman", "chairperson", "president", "director", "ceo"),
    *("founder", "captain", "coordinator", "secretary", "treasurer", "prime minister", "king"),
    *("queen", "emperor"),
)

# Patterns of words that make the next number approximate or a bound.
ROUGHLY = (
    *("about", "around", "approximately", "roughly", "nearly", "almost", "over", r"more\s+than"),
    *("circa", r"at\s+least", r"up\s+to"),
)

# Words that refer to earlier text.
POINTING = (
    "it its this that these those they their them he she his her him here there above below"
).split()

# --- causes, as patterns ---------------------------------------------------------------------


# --- asking ----------------------------------------------------------------------------------

# Verbs that begin a request and are not part of a name ("Compare the Kittiwake ...").
REQUESTS = frozenset(
    "compare contrast define describe discuss explain find give list name outline show summarise "
    "summarize tell".split()
)
# Words of asking that fit any subject ("the latest news on ...").
ASKING = (
    "compare comparison contrast current details difference differ explanation happening "
    "information latest list newest news overview recent recently status summarise summarize "
    "summary talk think thought today update"
).split()

# --- numbers and units -----------------------------------------------------------------------

NUMBER_WORDS = {
    word: str(value)
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
        "fifteen sixteen seventeen eighteen nineteen twenty".split()
    )
} | dict(
    zip(
        "thirty forty fifty sixty seventy eighty ninety hundred thousand million first second "
        "third twice".split(),
        "30 40 50 60 70 80 90 100 1000 1000000 1 2 3 2".split(),
        strict=True,
    )
)
SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
# Units with patterns of their spellings. Single letters are left out: "m" and "g" are ambiguous.
UNITS = {
    "per cent": r"%|per\s?cent(?:age\s+points?)?",
    "dollar": r"dollars?|usd",
    "euro": r"euros?|eur",
    "pound": r"pounds?|gbp|lbs?",
    "kilometre per hour": r"km/h|kph|kilomet(?:re|er)s?\s+(?:per|an)\s+hour",
    "mile per hour": r"mph|miles?\s+(?:per|an)\s+hour",
    "knot": r"knots?",
    "kilometre": r"km|kilomet(?:re|er)s?",
    "metre": r"met(?:re|er)s?",
    "centimetre": r"cm|centimet(?:re|er)s?",
    "millimetre": r"mm|millimet(?:re|er)s?",
    "nautical mile": r"nautical\s+miles?",
    "mile": r"miles?",
    "foot": r"feet|foot|ft",
    "hectare": r"hectares?|ha",
    "acre": r"acres?",
    "kilogram": r"kg|kilos?|kilogram(?:me)?s?",
    "gram": r"gram(?:me)?s?",
    "milligram": r"mg|milligram(?:me)?s?",
    "tonne": r"tonnes?|tons?",
    "litre": r"lit(?:re|er)s?",
    "millilitre": r"ml|millilit(?:re|er)s?",
    "degree": r"degrees?|°\s?[cf]?",
    "kilowatt hour": r"kwh|kilowatt[\s-]hours?",
    "megawatt hour": r"mwh|megawatt[\s-]hours?",
    "gigawatt hour": r"gwh|gigawatt[\s-]hours?",
    "kilowatt": r"kw|kilowatts?",
    "megawatt": r"mw|megawatts?",
    "gigawatt": r"gw|gigawatts?",
    "horsepower": r"b?hp|horse[\s-]?power",
    "year": r"years?(?!-olds?\b)",  # an age is not a duration
    "month": r"months?",
    "week": r"weeks?",
    "day": r"days?",
    "hour": r"hours?",
    "minute": r"minutes?|mins?",
    "second": r"seconds?|secs?",
}

# --- noun phrases ---------------------------------------------------------------------------------

DETERMINERS = frozenset("a an the our your".split())
BE = frozenset("is are was were be been".split())
AUXILIARIES = frozenset("do does did can could will would should must may might shall".split())
QUESTION_WORDS = frozenset("who what when where why how which whom whose".split())
PREPOSITIONS = frozenset(
    """
    about across after against among around as at before behind between beyond by during for from
    in inside into like near of off on onto outside over regarding since through toward towards
    under until via with within without
    """.split()
)
# Irregular participles and verbs that end a phrase, as words in -ed do.
PARTICIPLES = frozenset(
    """
    begun bought born broken brought built chosen done drawn drunk driven eaten fallen found founded
    given gone grown held hidden hit kept known laid led left lost made meant met paid put read run
    said seen sent set shot shown shut sold spent spoken stolen sung taken taught thrown told won
    worn written became began came fell gave grew knew took went wrote happen happened work works
    """.split()
)
# Heads too general to name anything.
EMPTY_HEADS = frozenset(
    """
    anyone anything article aspect case detail example fact information kind lot number one part
    person reason section sort thing time topic type way year years day days today people things
    aspects details facts examples reasons else significant interesting important information
    career going life thing name first second third last next other others best most more
    """.split()
)

# A reference to something just mentioned, at the end of a question: "who suggested that figure?".
POINTED_AT = r"\b(?:that|this|these|those)\s+[a-z]{3,}\W*$"
