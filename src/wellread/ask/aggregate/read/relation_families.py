"""Everyday words for common relations.

A relation type is known by its name only ("funded_by"); people ask with other words ("who pays
for"). Each family holds phrases that say the same; a type whose name, inverse or words are in a
family is also found by the others. Voice and tense are no matter of these lists: "uses" finds
"used by" and "is X used" (see ``phrases.py``).
"""

from __future__ import annotations

# Each family: phrases that read along the relation, and phrases that read against it.
FAMILIES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = tuple(
    (tuple(along.split(", ")), tuple(against.split(", ")) if against else ())
    for along, against in (
        ("use, utilise, employ, make use of, run on, draw on, borrow from, work with", ""),
        (
            "depend on, rely on, require, need, presuppose, build on, cannot do without",
            "prerequisite for, prerequisite of, precondition for, necessary for, enable",
        ),
        (
            "funded by, financed by, paid for by, supported by, sponsored by, get money from, "
            "receive money from, paid by",
            "give money to, fund",
        ),
        (
            "part of, parts of, belong to, member of, members of, component of, components of, "
            "contained in, included in, in the group, element of, elements of, fall under, "
            "subset of",
            "has part, have part, consist of, comprise, made up of, composed of",
        ),
        (
            "located in, lie in, stand in, situated in, based in, housed in, found in, "
            "take place in",
            "host, home to",
        ),
        ("implement, carry out, put into practice, realise, practise, apply, adopt", ""),
        (
            "followed by, come before, precede, before, lead to, go before",
            "come after, after, succeed, go after, preceded by",
        ),
        ("link to, refer to, point to, cite, reference", ""),
        (
            "mentioned in, covered in, discussed in, treated in, named in, reported in, "
            "described in, appear in, come up in, written about in",
            "talk about, deal with, report on, speak of, write about",
        ),
        ("own, possess, hold", "belong to, property of"),
        (
            "created by, made by, built by, written by, developed by, founded by, designed by, "
            "invented by, authored by, published by",
            "author of, creator of, founder of",
        ),
        (
            "managed by, led by, run by, operated by, coordinated by, maintained by, "
            "responsibility of",
            "responsible for, in charge of, look after",
        ),
        ("replace, supersede, take the place of", ""),
        ("contradict, conflict with, oppose, at odds with, disagree with", ""),
        ("support, help, back, strengthen, contribute to", ""),
        ("derived from, based on, inspired by, come from, stem from, adapted from", ""),
        ("influence, inform, shape, affect, cause", "influenced by, result of"),
        ("extend, refine, specialise, variant of, special case of", "generalise"),
        ("is a, kind of, type of, example of, instance of", ""),
        ("produce, generate, supply, provide, deliver", ""),
        ("partner of, collaborate with, cooperate with, work together with, allied with", ""),
    )
)

# They say the same from both sides, whatever the type that they are found for.
BOTH_WAYS = ("related to", "relate to", "see also", "similar to", "akin to", "kindred with")

# They ask for a relation of any type.
ANY_RELATION = (
    "connected to",
    "connected with",
    "have to do with",
    "has to do with",
    "associated with",
    "linked with",
    "tied to",
    "neighbour of",
    "neighbours of",
    "neighbor of",
    "neighbors of",
    "around",
    "relation to",
    "relations of",
    "relationships of",
    "connections of",
)
