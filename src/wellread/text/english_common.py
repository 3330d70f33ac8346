"""Everyday English words: as a name, one of these says nothing unless its spelling does.

At the end those by which two questions that look alike ask different things.
"""

from __future__ import annotations

from wellread.text.english import OFFICES

# Never names, however they are written (an acronym in capitals is another word).
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

# Of stories: closed-class words, and verbs that go with any subject.
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

# Beside prepositions, what stands between two sides or behind a verb ("turn it off").
BETWEEN_SIDES = frozenset("than to of versus on off up down out".split())
# Words whose meaning is another one tomorrow.
OF_THE_MOMENT = frozenset(
    """
    today tonight tomorrow yesterday recently lately latest newest recent next coming upcoming
    """.split()
)
# What a question may have more or less of and ask the same.
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
# Words that stand for each other in a question, whatever it is about.
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

# What stands before a name and is no part of it ("Captain Stroud", "Dr Greve").
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

# What stands between a thing and its name: "a mill called Old Tom".
GIVEN_NAME = r"(?:named|called|dubbed|termed|titled|known as)"

# --- what a paper found ------------------------------------------------------------------------
# Headings of the parts that state it, in the order in which they are looked through.
STATING_PARTS = (
    r"(?:summary and )?(?:conclusions?|concluding remarks)\b",
    r"(?:(?:main|key) )?(?:findings|results)\b",
)
_OURS = (
    r"(?:papers?|study|work|results?|findings?|models?|methods?|approach|analys[ei]s|experiments?)"
)
# Where an abstract turns from what is known to what the paper did.
OWN_VOICE = rf"\b(?:we|(?:this|our) (?:\w+ )?{_OURS})\b"
# Whoever finds, the verb not far behind; a share or a factor; one thing more than another.
FINDING = (
    rf"\b(?:we|it|these|they|{_OURS})\b(?:(?!\bto\b)[^.;]){{0,40}}?\b(?:f(?:ound|inds?)\b|show"
    r"|demonstrat|observ|conclud|suggest|reveal|indicat|achiev|outperform|obtain|confirm|improv"
    r"|reduc|increas|exceed)|\d\s?(?:%|per ?cent\b|percentage points?\b|-?fold\b)|\d times\b"
    r"|\b(?:more|less|fewer|better|worse|(?:high|low|fast|slow|cheap|larg|small)er)\b[^.;]*\bthan\b"
)
# What tells of a picture, a part of the paper, another paper, or what is still to do.
POINTING = (
    r"\b(?:fig(?:ure)?s?|tables?|sections?|appendix|equations?)\b\.?\s*[\dA-Z]|\bet al\b"
    r"|\b(?:remains? to be|future work|little is known|we (?:plan|hope|intend|will))\b"
)
