"""Words in which English asks for relations and for facts about a document."""

from __future__ import annotations


def _runs(text: str) -> tuple[tuple[str, ...], ...]:
    """Runs of words that commas divide, each as its words."""
    return tuple(tuple(run.split()) for run in text.split(","))


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
# Before a name they only point at it.
POINTING = frozenset("the a an this that these those our my your".split())
# What any text has, so that it says nothing of which items are asked for.
ANY_ITEMS = frozenset(
    """
    summary overview gist synopsis outline content subject topic theme agenda section chapter item
    highlight nutshell tldr point
    """.split()
)
SUMMING_UP = frozenset("summarize summarized sum outline recap describe digest".split())
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
SPOKEN_NOUNS = frozenset(
    "talk lecture interview session meeting call webinar panel conversation discussion "
    "presentation".split()
)
