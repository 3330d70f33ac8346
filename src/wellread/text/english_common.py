"""English words and patterns: everyday words, synonyms, expected answers, comparisons.

An everyday word counts as a name only if its spelling shows that it is one.
"""

from __future__ import annotations

import re
from functools import partial

from wellread.text.english import OFFICES

# Never names in any spelling, except as an acronym in capitals.
STOP_WORDS = frozenset(
    """
    a about above across after again against all almost alone along already also although always am
    among an and another any anybody anyone anything are around as at away back be became because
    become been before behind being below beneath beside besides between beyond both but by can
    cannot could did do does doing done down during each either else ever every everybody everyone
    everything except few for from further had has have having he hence her here hers herself him
    himself his how however i if in indeed instead into is it its itself just least less lest like
    many may me might mine more moreover most much must my myself near neither never nevertheless
    next no nobody none nor not nothing now nowhere of off often on once one only onto or other
    others otherwise ought our ours ourselves out over own per perhaps quite rather same several
    shall she should since so some somebody someone something sometimes somewhere soon still such
    than that the their theirs them themselves then thence there therefore these they this those
    though through throughout thus till to together too toward towards under unless until up upon
    us very via was we well were what whatever when whenever where whereas wherever whether which
    while who whoever whole whom whose why will with within without would yes yet you your yours
    yourself yourselves
    """.split()
)

COMMON_WORDS = STOP_WORDS | frozenset(
    """
    able accept access account act action active activity actual add address advice age agree air
    allow amount animal annual answer appear apply approach april area argue arm army art article
    ask assume attack august author available average avoid baby bad bag ball bank bar base basic
    battle bear beat beautiful bed begin believe benefit best better big bill billion bird birth bit
    black block blood blue board boat body bone book border born box boy branch bread break bridge
    brief bring broad brother brown budget build building burn business busy buy call camera camp
    campaign capital car card care career carry case catch cause cell center central century certain
    chair challenge chance change channel chapter character charge cheap check child children choice
    choose church circle city claim class clean clear close cloud club coach coast code cold collect
    college color come comment common community company compare complete computer concern condition
    consider contain content continue contract control cook cool copy corner correct cost count
    country couple course court cover create credit crime cross crowd culture cup current customer
    cut daily dance danger dark data date daughter day dead deal death debate december decide
    decision deep degree demand department depend describe design desk detail develop die difference
    different difficult dinner direct direction director discover discuss disease doctor document
    dog door doubt draft draw dream dress drink drive driver drop dry due early earth east easy eat
    economy edge education effect effort eight election employee end enemy energy engine enjoy
    enough enter entire entry environment equal error escape establish evening event evidence exact
    example exchange exist expect experience expert explain express extra eye face fact factor fail
    fair fall family famous far farm fast father fear feature february fee feel field fight figure
    file fill film final find fine finger finish fire firm first fish five flat floor flow fly focus
    follow food foot force foreign forest forget form formal former forward four frame free fresh
    friday friend front fruit full fund future gain game garden gas gate general get girl give glass
    go goal god gold good government grand great green ground group grow growth guard guess guide
    gun hair half hall hand handle hang happen happy hard hat head health hear heart heat heavy help
    hide high hill history hit hold hole home hope horse hospital host hot hotel hour house huge
    human hundred hurt husband ice idea image impact important improve include income increase index
    individual industry information input inside interest international interview introduce invest
    island issue item january job join journey judge july june key kill kind king kitchen know label
    labor lack lady lake land language large last late later laugh law lay lead leader leaf league
    learn leave left leg legal lesson let letter level library lie life light limit line link list
    listen little live load local long look lose loss lot love low lunch machine magazine main major
    make man manage manager map march mark market marriage master match material matter mean measure
    media medical meet meeting member memory mention menu message metal method middle mile military
    milk million mind minute miss mission mistake mix model modern moment monday money month moon
    morning mother motion mountain mouth move movement movie music name nation national nature
    necessary neck need network new news newspaper night nine noise normal north nose note notice
    novel november number object october offer office officer official oil old open operate opinion
    option orange order organization origin output outside owner pack page pain paint pair paper
    parent park part partner party pass past path pattern pause pay peace pen people perfect perform
    period person phone photo pick picture piece place plain plan plane plant play player please
    point police policy political poor popular population position possible post pound power
    practice prepare present president press pressure pretty prevent price primary print private
    prize problem process produce product profile program progress project promise proof property
    proposal protect prove provide public pull purpose push put quality quarter queen question quick
    quiet race radio rain raise range rate reach read ready real reason receive recent record red
    reduce reference region relate release remain remember remove repeat replace reply report
    request require research resource respond response rest result return reveal review rich ride
    right ring rise risk river road rock role roll room root round route row rule run safe sale salt
    sample sand saturday save say scale scene school science score sea search season seat second
    secret section secure security see seed seek seem segment sell send senior sense sentence
    separate september series serious serve service session set settle seven shade shape share sharp
    sheet shell ship shirt shock shoe shoot shop short shot shoulder show side sign signal silver
    similar simple sing single sister sit site situation six size skill skin sky sleep slow small
    smart smile smoke snow social society soft soil soldier solution son song sort soul sound source
    south space speak special speech speed spend spirit split sport spot spread spring square staff
    stage stand standard star start state statement station status stay step stick stock stone stop
    store storm story straight stream street strength strike string strong structure student study
    stuff style subject success sudden suffer sugar suggest suit summary summer sun sunday supply
    support sure surface surprise survey sweet swim switch system table take talk tape target task
    tax teach teacher team tell ten term test text thank theory thing think third thought thousand
    threat three thursday ticket tie time tiny title today token tomorrow tone tonight tool top
    topic total touch tour town track trade tradition traffic train transfer travel treat tree trial
    trip trouble truck true trust truth try tuesday turn two type uncle understand union unit update
    upper use user usual valley value van version victory video view village visit voice volume vote
    wage wait walk wall want war warm wash watch water wave way weak weapon wear weather web
    wednesday week weight west wheel white wide wife wild win wind window winter wish woman wonder
    wood word work worker world worry worth write wrong yard year yellow yesterday young youth zero
    zone
    """.split()
)

# Stop words in comparing news stories: closed classes, and verbs that fit any subject.
STORY_STOP_WORDS = frozenset(
    """
    a about above after again against all also am an and any are as at be because been before being
    below between both but by can cannot could did do does doing down during each else ever few for
    from further get gets give given gives got had has have having he her here hers him his how
    however i if in into is it its itself just know let like made make makes many may me might more
    most much must my no nor not now of off on once one only or other our out over own per please
    said same say says shall she should so some such tell than that the their theirs them then
    there these they this those through thus to too under until up upon us use used uses using very
    via was we were what when where whether which while who whom whose why will with within without
    would yes yet you your yours
    """.split()
)
NUMBERS_AND_TIMES = frozenset(
    """
    two three four five six seven eight nine ten hundred thousand million billion percent euros
    dollars pounds hour minute day week month year today tomorrow yesterday monday tuesday wednesday
    thursday friday saturday sunday january february march april may june july august september
    october november december first second third last next new old
    """.split()
)

# --- questions that mean the same -----------------------------------------------------------------

# Besides prepositions, words between two sides or after a verb ("turn it off").
BETWEEN_SIDES = frozenset("than to of versus on off up down out".split())
# Words whose meaning depends on the day.
OF_THE_MOMENT = frozenset(
    """
    today tonight tomorrow yesterday recently lately latest newest recent next coming upcoming
    """.split()
)
# Words that do not change what a question asks.
AROUND_A_QUESTION = frozenset(
    """
    answer anybody anyone available best certain easily easy easier easiest exactly existing good
    great help hello hey hi kindly know learn look method need ok option options particular
    permanently possibility possible properly question questions quick quickly
    simple simply somehow someone sort specific steps thank thanks think try trying understand
    want wanted wants way ways wish wonder wondering able correct correctly entire entirely
    actual really whole perhaps maybe now current currently presently nowadays
    """.split()
)
# Words that are interchangeable in questions on any topic.
SYNONYMS = tuple(
    tuple(line.split())
    for line in """
    delete remove erase revoke
    create make generate draw build produce
    buy purchase
    start begin commence
    finish end conclude
    change modify edit alter update adjust
    receive get obtain
    show display view see
    photo photos picture pictures image images
    email mail mails e-mail
    phone telephone mobile cellphone
    car vehicle automobile
    document documents doc docs
    big large
    small little
    fix repair mend
    employee employees staff worker workers
    film movie
    child children kid kids
    join enrol enroll register
    allow permit let
    happen occur
    cost price fee charge
    annual yearly
    transfer move
    auto automatically automatic
    repository repositories repo repos
    message messages msg
    holiday vacation
    doctor physician
    town city
    job employment
    company firm business
    meet meeting
    reply answer response
    pc computer machine
    site website webpage
    app application apps
    web internet online
    author writer
    search searching look
    select choose pick
    close shut
    important significant essential
    error bug fault
    goal aim objective
    idea concept
    test exam
    salary wage wages
    trash bin rubbish garbage
    insert add
    multiple several many various
    different distinct
    use utilise utilize employ
    check verify
    assist help aid
    wrong incorrect mistaken
    rule rules regulation regulations
    participant participants attendee attendees
    founder creator
    suggest recommend
    attach append
    """.strip().splitlines()
)

# Words before a name that are not part of it ("Captain Stroud", "Dr Greve").
FORMS_OF_ADDRESS = frozenset(
    {
        *OFFICES,
        *("mr", "mrs", "ms", "miss", "mx", "sir", "dame", "lady", "lord", "dr", "doctor", "prof"),
        *("professor", "reverend", "rev", "father", "sister", "brother", "pastor", "rabbi", "imam"),
        *("judge", "justice", "senator", "councillor", "minister", "governor", "ambassador"),
        *(
            "officer",
            "inspector",
            "sergeant",
            "sgt",
            "lieutenant",
            "lt",
            "capt",
            "major",
            "colonel",
        ),
        *("col", "general", "gen", "admiral", "commander", "chief", "coach", "chef", "engineer"),
    }
)

# Words between a thing and its name: "a mill called Old Tom".
GIVEN_NAME = r"(?:named|called|dubbed|termed|titled|known as)"


# --- facts about a document --------------------------------------------------------------------
# Words before a noun that only point at it.
DETERMINERS = frozenset("the a an this that these those our my your".split())
SUMMING_UP = frozenset("summarize summarized sum outline recap describe digest".split())
# Nouns that people use for any document, whatever its kind.
DOCUMENT_NOUNS = frozenset(
    """
    paper article study preprint publication report thesis document text page post talk lecture
    interview session meeting episode podcast recap recording video transcript call webinar panel
    newsletter issue edition book chapter manuscript essay memo minutes notes guide file work
    pattern entry conversation discussion presentation piece
    """.split()
)
# Nouns for the whole material: "what do the sources say about ...".
ALL_THERE_IS = frozenset("source sources material materials".split())
SPOKEN_NOUNS = frozenset(
    "talk lecture interview session meeting call webinar panel conversation discussion "
    "presentation".split()
)


_form = partial(re.compile, flags=re.IGNORECASE)

# --- what a question asks for, and the forms of an answer -----------------------------------------

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
# Context before an interrogative; elsewhere it is a relative pronoun ("those who").
_ASKING = (
    r"(?:^\W*|[,;:]\s*|\b(?:and|or|but|by|to|of|with|for|from|on|about|since|until|till|tell|me|us"
    r"|know|say|show|find out|remember)\s+)"
)
ASKS_FOR = {  # the earliest match in the question wins
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
# Patterns that ask for an amount, and its units.
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

# --- questions that need many sources ------------------------------------------------------------

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
# A shared aspect of both sides: "compare the size of A and B".
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
