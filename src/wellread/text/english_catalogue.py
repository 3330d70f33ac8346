"""Words in which English asks for counts, gaps, trends, news and relations."""

from __future__ import annotations


def _runs(text: str) -> tuple[tuple[str, ...], ...]:
    """Runs of words that commas divide, each as its words."""
    return tuple(tuple(run.split()) for run in text.split(","))


# --- topics ------------------------------------------------------------------------------------
BEFORE_A_TOPIC = _runs(
    """
    talk about, talks about, talked about, talking about, talk of, talks of, speak about,
    speaks about, speak of, speaks of, spoke of, tell of, tells of, write about, wrote about,
    writes about, report on, reports on, deal with, deals with, dealt with, dealing with,
    touch on, touches on, touched on, touch upon, look at, looks at, look into,
    about, regarding, concerning, concern, concerns, discuss, discusses, discussed, discussing,
    cover, covers, covered, covering, coverage of, coverage on, address, addresses, addressed,
    addressing, treat, treats, treated
    """
)
BEFORE_A_NAME = _runs(
    """
    contain the word, contain the words, contain the phrase, use the word, make mention of,
    makes mention of, mention, mentions, mentioning, mentioned, name, names, named, naming,
    refer to, refers to, referred to, referring to, bring up, brings up, brought up, cite, cites,
    cited, citing
    """
)
WEAKLY_BEFORE_A_TOPIC = _runs("on")
# After the topic: that it is named, and that it is told of.
NAMED_THERE = _runs(
    """
    mentioned, named, brought up, referred to, cited, come up, comes up, came up, coming up,
    appear, appears, appeared, show up, shows up, showed up, turn up, turns up, turned up
    """
)
TOLD_OF = _runs(
    "discussed, covered, described, talked about, written about, reported on, addressed, treated"
)
BEING = frozenset(("is", "are", "was", "were", "been", "does", "do", "did", "has", "have"))
EDGES_OF_A_TOPIC = frozenset(
    """
    a an the is are was were there do does did we you have has in of at all any both to it
    get gets got ever please anywhere somewhere
    collection archive library knowledge base catalogue our your this these
    """.split()
)

# --- counts ------------------------------------------------------------------------------------
# Between the lead and the noun; they change nothing. What holds everything is among them.
BEFORE_A_COUNTED_NOUN = frozenset(
    """
    all every each of the a an any different distinct unique me my our your
    archive base catalog catalogue collection commons corpus knowledge library
    """.split()
)
# Words that say only that something is there, or came to be.
BESIDE_A_COUNT = frozenset(
    """
    a all also altogether an and any appear appeared archive are at available base been being by
    came can catalog catalogue collection come commons contain contained corpus currently
    database dated did different distinct do does each ever every exist existing far for found
    from had has have held here hold i in included indexed into is issued just kept know
    knowledge known library list now of on only our out overall please published released so
    still store stored that the there these this those time times to total us was we were what
    which with written you your
    """.split()
)
OF_PEOPLE = frozenset(
    "speak speaks spoken spoke say said talk talks talked write wrote written publish author "
    "authored co coauthor coauthored cowrite cowrote".split()
)
OF_TIME = frozenset("after before between during recorded since through until within".split())
DIVIDING = _runs("per, by, for each, in each, for every, each, of each")

# --- gaps and trends ---------------------------------------------------------------------------
# Beside the topic: what everything can be called, and the words of the question itself.
BESIDE_A_GAP = frozenset(
    """
    a all already also an and any anything archive are at base been by can catalogue collection
    contain contains content cover covered covers coverage data did do document documents does
    doesnt dont
    entries entry exist exists find found from gap gaps got had has have here hold i if in
    info information is it item items know knowledge known lack lacking library literature look
    material materials mentions missing more much not of on or our please present record records
    said sources something source still stuff that the there to us was we were what whether which
    written yet you your
    """.split()
)
# What surrounds the topic in a question for a trend.
AROUND_A_TREND = frozenset(
    """
    a about advanced again all an and any are as at attention became become been being by can
    change changed changes changing coverage covered decline declined declining develop developed
    development developments did discuss discussed discussion do does during ever evolution evolve
    evolved evolving frequency from gotten grew grow growing grown had has have history how
    in increase increased increasing interest into is it less mention mentioned mentions more much
    of often or over past popular popularity progress progressed recently rise risen rising show
    since talk talked the there through time times to topic topics trend trends us was we were
    what with year years
    """.split()
)

# --- news --------------------------------------------------------------------------------------
NEWS = frozenset(
    "happened happening headline headlines lately latest miss missed new newest news recent "
    "recently update updates".split()
)
NEWS_BY_ITSELF = frozenset("headline headlines new newest news".split())
REPORTING = frozenset("publish published report reported write wrote".split())  # with a time
# What else a question for the news consists of.
AROUND_NEWS = frozenset(
    """
    a all an and any anything are around at available be been big biggest bring brief briefly can
    catch change changed changes could currently date day days develop developments did digest do
    does event events everything far few for from get give going had happen has have here i if
    important in interesting is item items just key know last let lets main major me
    month months most my now of on or our overview past please quick quickly roundup short
    since so some something speed stories story summarize summary tell that the there these
    thing things this to today top up us was we week weeks were what whats which with you your
    archive base between collection documents during feed feeds knowledge library material
    sources within
    """.split()
)

# --- relations: the grammar --------------------------------------------------------------------
PREPOSITIONS = frozenset(
    "of to in on by from with for about at as under into upon after before without over".split()
)
DETERMINERS = frozenset({"the", "a", "an", "its", "their", "some", "any"})
FORMS_OF_BE = frozenset("is are was were be been being gets get".split())
# Heads that mean nothing without what follows them.
LIGHT_VERBS = frozenset(
    "come go be have has get take put make give lie stand be do cannot at in".split()
)
# With this preposition they are other verbs: what runs on tides does not run them.
PHRASAL_VERBS = frozenset({("run", "on"), ("draw", "on")})
IRREGULAR_PARTICIPLES = {
    run[0]: run[1]
    for run in _runs(
        """
        paid pay, built build, made make, written write, led lead, run run, held hold, given give,
        taken take, driven drive, known know, shown show, taught teach, found find, chosen choose,
        grown grow, kept keep, begun begin, said say, spoken speak, told tell, seen see, drawn draw,
        born bear, bought buy, sold sell, won win, lent lend, sent send, met meet, done do, put put,
        cut cut, set set, worn wear, thrown throw, brought bring, caught catch, fed feed,
        understood understand
        """
    )
}
NO_PARTICIPLES = frozenset("need speed feed seed embed exceed succeed proceed".split())

# --- relations: everyday words for common ones -------------------------------------------------
# Each family: phrases that read along the relation and, behind the bar, phrases against it.
RELATION_FAMILIES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = tuple(
    (tuple(along.split(", ")), tuple(against.split(", ")) if against else ())
    for along, _, against in (
        " ".join(line.split()).partition(" | ")
        for line in """
        use, utilise, employ, make use of, run on, draw on, borrow from, work with;
        depend on, rely on, require, need, presuppose, build on, cannot do without |
            prerequisite for, prerequisite of, precondition for, necessary for, enable;
        funded by, financed by, paid for by, supported by, sponsored by, get money from,
            receive money from, paid by | give money to, fund;
        part of, parts of, belong to, member of, members of, component of, components
            of, contained in, included in, in the group, element of, elements of, fall
            under, subset of | has part, have part, consist of, comprise, made up of,
            composed of;
        located in, lie in, stand in, situated in, based in, housed in, found in, take
            place in | host, home to;
        implement, carry out, put into practice, realise, practise, apply, adopt;
        followed by, come before, precede, before, lead to, go before | come after,
            after, succeed, go after, preceded by;
        link to, refer to, point to, cite, reference;
        mentioned in, covered in, discussed in, treated in, named in, reported in,
            described in, appear in, come up in, written about in | talk about, deal
            with, report on, speak of, write about;
        own, possess, hold | belong to, property of;
        created by, made by, built by, written by, developed by, founded by, designed
            by, invented by, authored by, published by | author of, creator of, founder
            of;
        managed by, led by, run by, operated by, coordinated by, maintained by,
            responsibility of | responsible for, in charge of, look after;
        replace, supersede, take the place of;
        contradict, conflict with, oppose, at odds with, disagree with;
        support, help, back, strengthen, contribute to;
        derived from, based on, inspired by, come from, stem from, adapted from;
        influence, inform, shape, affect, cause | influenced by, result of;
        extend, refine, specialise, variant of, special case of | generalise;
        is a, kind of, type of, example of, instance of;
        produce, generate, supply, provide, deliver;
        partner of, collaborate with, cooperate with, work together with, allied with
        """.strip().split(";")
    )
)
# They say the same from both sides, whatever the type that they are found for.
RELATED_BOTH_WAYS = ("related to", "relate to", "see also", "similar to", "akin to", "kindred with")
# They ask for a relation of any type.
ANY_RELATION = tuple(
    "connected to, connected with, have to do with, has to do with, associated with, linked with, "
    "tied to, neighbour of, neighbours of, neighbor of, neighbors of, around, relation to, "
    "relations of, relationships of, connections of".split(", ")
)

# --- the graph ---------------------------------------------------------------------------------
AUXILIARIES = frozenset("do does did is are was were has have had can could will would".split())
RELATIVES = frozenset("that which who whom what whose where when".split())
GENERIC_NOUNS = frozenset(
    "thing things something anything everything ones entry entries entity entities stuff items "
    "item people someone anyone everyone project projects initiative initiatives commons".split()
)
SHARING = frozenset({"share", "shares", "sharing"})
COMMANDS = frozenset("name list show give find mention".split())  # as the first word
BEFORE_NOUNS = frozenset(
    "which the a an same both other another all any these those of by for related".split()
)

# --- ways through the graph --------------------------------------------------------------------
OF_CONNECTION = frozenset("connection connections path paths relationship link ways way".split())
IN_COMMON = frozenset({"both", "common", "share", "shared", "shares"})
AROUND_A_WALK = frozenset(
    "how connect connects connected also another exactly list name tell".split()
)

# --- facts about a document --------------------------------------------------------------------
# Each fact: the nouns that name it, the words that a question for it opens with, and the verbs
# that ask for it behind them.
FACTS_ASKED: tuple[tuple[str, frozenset[str], frozenset[str], frozenset[str]], ...] = tuple(
    (name, frozenset(things.split()), frozenset(leads.split()), frozenset(verbs.split()))
    for name, things, leads, verbs in (
        ("abstract", "abstract abstracts", "", ""),
        ("title", "title titles", "", ""),
        (
            "authors",
            "author authors writer writers coauthor coauthors authorship byline",
            "who whom whose",
            "write writes wrote written author authored publish published pen penned made co "
            "cowrite cowrote coauthored",
        ),
        (
            "speakers",
            "speaker speakers participant participants guest guests panelist panelists host hosts "
            "attendee attendees interviewee",
            "who whom whose",
            "speak speaks spoke spoken speaking talk talks talked talking participate participated "
            "part took take takes join joined joins appear appears appeared attend attended "
            "attends hosts hosted interviewed presents presented presenting featured heard on",
        ),
        (
            "date",
            "date dated publication",
            "when year day month old",
            "publish published write wrote written release released come came out appear appeared "
            "issued post posted recorded record air aired hold held take took place submitted "
            "sent presented made",
        ),
        (
            "length",
            "length duration pages runtime",
            "long many",
            "last lasts lasted run runs take takes took minutes hours pages words number count",
        ),
        (
            "source",
            "url link address publisher website webpage source",
            "where",
            "published publish find found read come comes available posted post appear appeared "
            "listen watch online original originally from",
        ),
        (
            "contribution",
            "contribution contributions novelty takeaway takeaways idea point message thesis",
            "what",
            "contribute contributes contributed propose proposes proposed introduce introduces "
            "introduced present presents presented argue argues argued new",
        ),
        (
            "summary",
            "summary summaries overview gist synopsis outline content contents subject subjects "
            "topic topics theme themes agenda sections section chapters items highlights nutshell "
            "tldr points",
            "what which",
            "about cover covers covered covering discuss discusses discussed deal deals dealt talk "
            "talks talked talking treat treats treated say says said contain contains happen "
            "happened happens describe describes described tell tells report reports reported "
            "speak spoke",
        ),
        (
            "definition",
            "definition meaning define defined",
            "what whats who explain",
            "mean means meant",
        ),
    )
)
SUMMING_UP = frozenset("summarize summarized sum outline recap describe digest".split())
# With nothing beside a name, these ask for a fact: "when was", "how long is", "what is".
BARE_LEADS = {"when": "date", "long": "length", "what": "definition", "whats": "definition",
              "who": "definition", "explain": "definition"}  # fmt: skip
DOING = frozenset(("do", "does", "did", "has", "have", "had"))
# What else such a question consists of, beside words that say nothing anywhere.
AROUND_A_FACT = frozenset(
    """
    all any behind brief briefly called can central chief complete core could current entire exact
    exactly find full give entitled key list long main major me most name named names one original
    over overall people person please primary quick quickly short show single tell titled total
    us want whole would kind first sort stuff things thing there up many much number
    """.split()
)
LATEST_ONES = frozenset("latest newest recent last".split())
EARLIEST_ONES = frozenset("earliest oldest first".split())
# Any of them may be called so, whatever its kind.
DOCUMENT_NOUNS = frozenset(
    """
    paper article study preprint publication report thesis document text page post talk lecture
    interview session meeting episode podcast recap recording video transcript call webinar panel
    newsletter issue edition book chapter manuscript essay memo minutes notes guide file work
    pattern entry conversation discussion presentation piece
    """.split()
)
# What a question calls all there is: "what do the sources say about ...".
ALL_THERE_IS = frozenset("source sources material materials".split())
ANY_DOCUMENT = frozenset("document text file work entry".split())
SPOKEN_NOUNS = frozenset(
    "talk lecture interview session meeting call webinar panel conversation discussion "
    "presentation".split()
)
BEFORE_A_COMPANION = ("with", "beside", "besides", "alongside")
BEFORE_A_SUBJECT = frozenset(("about", "on", "regarding", "concerning"))
