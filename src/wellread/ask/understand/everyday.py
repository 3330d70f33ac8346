"""Words that questions are made of: as the name of an entity, one of these alone says nothing.

Unlike the words that texts are made of (``ingest/joining``), these are few: in a question over a
base with an entity "Circle", the word means it.
"""

from __future__ import annotations

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
