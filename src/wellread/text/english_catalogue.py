"""Words in which English asks for facts about a document."""

from __future__ import annotations

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
