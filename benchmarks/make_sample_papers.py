"""Write the three research papers of the sample knowledge base as PDF files.

The papers are fiction. They are kept in the repository, so this script is needed only after
their text has been changed. It needs reportlab (a development tool, not a dependency):

    python benchmarks/make_sample_papers.py [FOLDER]

The output is the same on every run (``invariant=1``: no time stamps, no random ids).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reportlab.lib import colors
from reportlab.lib.enums import TA_CENTER, TA_JUSTIFY
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    BaseDocTemplate,
    Flowable,
    Frame,
    FrameBreak,
    KeepTogether,
    NextPageTemplate,
    PageTemplate,
    Paragraph,
    Spacer,
    Table,
    TableStyle,
)

HERE = Path(__file__).resolve().parent
SAMPLE = HERE.parent / "src" / "wellread" / "sample" / "papers"
MARGIN = 24 * mm
GUTTER = 7 * mm


@dataclass(frozen=True, kw_only=True)
class Rows:
    """A small table: its caption, then the rows, the first of which is the head."""

    caption: str
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, kw_only=True)
class Section:
    """A numbered section (or an unnumbered one, when the title carries no number)."""

    title: str
    body: Sequence[str | Rows]


@dataclass(frozen=True, kw_only=True)
class Paper:
    """One paper and how it is set."""

    file: str
    title: str
    authors: str
    affiliation: str
    journal: str
    abstract: str
    keywords: str
    sections: Sequence[Section]
    references: Sequence[str]
    columns: int = 1
    size: float = 11.6
    font: str = "Times"


SEAGRASS = Paper(
    file="seagrass.pdf",
    title="Hessian Bags Outperform Loose Seed in Restoring Eelgrass in Skerrick Bay",
    authors="Elin Marrack and Owen Tarrant",
    affiliation="Halden Marine Station, Oldwick",
    journal="Halden Coastal Reports 12 (2025)",
    columns=2,
    size=11.3,
    abstract=(
        "Eelgrass meadows are often restored from seed, but most seeds never become plants. "
        "We compared two ways of sowing at three sites in Skerrick Bay, Halden Sound. Between 3 "
        "and 21 March 2025 we sowed 420,000 seeds on 1.8 hectares, partly in hessian bags and "
        "partly loose. After 180 days, 58 per cent of the quadrats sown with bags held at least "
        "one live shoot, against 31 per cent of the quadrats sown loose. Bags cost about twice "
        "as much per square metre as loose seed, yet they were the cheaper method per square "
        "metre of living meadow at the most exposed site. Strong current and anchoring were the "
        "main reasons for failure."
    ),
    keywords="eelgrass, seed bags, restoration, anchoring, volunteers",
    sections=[
        Section(
            title="1 Introduction",
            body=[
                "Skerrick Bay lost about 70 per cent of its eelgrass between 1985 and 2015. "
                "Dredging of the ferry channel ended in 2011 and the water has become clearer "
                "since the new sewage works opened in 2017, yet the meadow has not come back by "
                "itself. The remaining plants stand in a narrow belt on the eastern shore and "
                "set few seeds.",
                "Restoration from seed is attractive because no plants have to be dug up from a "
                "healthy meadow. Its weakness is the loss of seed in the first weeks: crabs eat "
                "it, waves bury it, and the current carries it away. Bags made of natural fibre "
                "are meant to hold the seed in place until the roots have formed. Earlier trials "
                "in sheltered water were promising [1, 2], but there is little evidence from "
                "sites with strong tides.",
                "We ask three questions. Do bags improve the survival of eelgrass in tidal "
                "water? Does the benefit depend on exposure? And is the extra work worth its "
                "cost?",
            ],
        ),
        Section(
            title="2 Methods",
            body=[],
        ),
        Section(
            title="2.1 Sites",
            body=[
                "We chose three sites with a depth of two to four metres. The inner bay (0.8 "
                "hectares) is sheltered. Corran Sands (0.6 hectares) is open to the west. Tern "
                "Bank (0.4 hectares) lies next to the channel and is the most exposed: at spring "
                "tide we measured a current of 0.62 metres per second half a metre above the "
                "sea bed.",
            ],
        ),
        Section(
            title="2.2 Seed and sowing",
            body=[
                "Seed was collected by hand in August 2024 from the eastern belt, under a permit "
                "that allowed us to take no more than five per cent of the flowering shoots. It "
                "was stored in seawater at four degrees. Between December and February, 86 "
                "volunteers filled 12,000 bags with twenty seeds each. The remaining 180,000 "
                "seeds were scattered loose from a rowing boat at slack water.",
                "Bags were threaded on a sisal line, one every half metre, and weighted with "
                "shells. Each site was divided into strips that were sown with bags or with "
                "loose seed, in an order decided by drawing lots.",
            ],
        ),
        Section(
            title="2.3 Survey",
            body=[
                "After 180 days, from 8 to 19 September 2025, divers examined 180 quadrats of "
                "one square metre, 30 for each method at each site. A quadrat counted as alive "
                "when it held at least one rooted shoot. Shoots were counted by two divers "
                "independently, and the mean was used. Water temperature was logged every hour.",
            ],
        ),
        Section(
            title="3 Results",
            body=[
                "Of the 90 quadrats with bags, 52 were alive (58 per cent). Of the 90 quadrats "
                "with loose seed, 28 were alive (31 per cent). Bags did better at every site "
                "(Table 1).",
                Rows(
                    caption="Table 1. Quadrats with live shoots after 180 days (of 30 each).",
                    rows=[
                        ["Site", "Bags", "Loose", "Ratio"],
                        ["Inner bay", "21 (70%)", "13 (43%)", "1.6"],
                        ["Corran Sands", "19 (63%)", "11 (37%)", "1.7"],
                        ["Tern Bank", "12 (40%)", "4 (13%)", "3.0"],
                        ["All sites", "52 (58%)", "28 (31%)", "1.9"],
                    ],
                ),
                "The relative benefit was greatest where the current was strongest. At Tern Bank "
                "a bag tripled the chance of finding a live shoot. Living quadrats were also "
                "denser when they had been sown with bags: they held 41 shoots per square metre "
                "on average, against 23 for loose seed.",
                "Divers found anchor scars in nine quadrats, and none of these held a live "
                "shoot. All but one of the scars could be dated to the weeks before 1 June, when "
                "the voluntary anchoring rule came into force.",
                "The highest temperature was 21.8 degrees, reached in the inner bay on 22 July. "
                "This is below the 23 degrees at which growth is known to stop [3].",
            ],
        ),
        Section(
            title="3.1 Cost",
            body=[
                "Sowing with bags cost 2.10 euros per square metre and loose sowing 0.95 euros, "
                "not counting unpaid work. Volunteers gave 1,140 hours, nearly all of them for "
                "filling bags. Divided by the share of living quadrats, one square metre of "
                "living meadow cost 3.63 euros with bags and 3.05 euros with loose seed over all "
                "sites. At Tern Bank the order was reversed: 5.25 euros with bags and 7.13 euros "
                "without.",
            ],
        ),
        Section(
            title="4 Discussion",
            body=[
                "Bags nearly doubled the survival of eelgrass. We think that two effects are at "
                "work. The mesh keeps shore crabs away during the first six weeks, and the "
                "weighted line stops the seed from drifting. The first effect should be equal at "
                "all sites, while the second grows with the current. This fits the pattern in "
                "Table 1.",
                "Cost alone does not speak for bags everywhere. In the sheltered inner bay, "
                "loose seed gives more living meadow for the same money. We still used bags "
                "there, because seed and not money is what we are short of: the permit limits "
                "how much can be collected.",
                "Tern Bank is a warning. Even with bags, three quadrats out of five were bare. "
                "We recommend leaving this site out in 2026 and moving the effort to Corran "
                "Sands.",
            ],
        ),
        Section(
            title="4.1 Limitations",
            body=[
                "Our study covers one season with mild weather. It ended before the autumn "
                "gales, and we do not know how many of the young plants will survive the winter. "
                "Divers could not be kept unaware of the method, since remains of hessian were "
                "visible in some quadrats. We plan a second survey in September 2026.",
            ],
        ),
        Section(
            title="5 Conclusion",
            body=[
                "In tidal water, seed bags are worth the effort wherever seed is scarce or the "
                "current is strong. In calm water, loose sowing remains a sensible choice when "
                "seed is plentiful. Protection from anchors matters as much as the method of "
                "sowing, and it costs little.",
            ],
        ),
        Section(
            title="Acknowledgements",
            body=[
                "We thank the volunteers of the chapel hall. The work was paid for by the "
                "community benefit fund of the Merrow Tide Cooperative (24,000 euros).",
            ],
        ),
    ],
    references=[
        "[1] R. Ferrow and L. Anstey. Fibre bags as seed carriers in sheltered inlets. Journal "
        "of Imagined Ecology 8 (2019), 44-59.",
        "[2] K. Thorne. What crabs eat in spring. Halden Coastal Reports 7 (2020), 3-11.",
        "[3] P. Weyland. Heat limits of northern eelgrass. Annals of Fictional Botany 31 (2016), "
        "201-218.",
    ],
)

MICROGRID = Paper(
    file="microgrid-islanding.pdf",
    title="Keeping the Lights On: Six Months of Islanded Operation in the Skerrick Microgrid",
    authors="Nadia Osei and Henrik Dall",
    affiliation="Skerrick Energy Commons, Skerrick",
    journal="Proceedings of the Workshop on Community Energy, Port Merrow, November 2025",
    abstract=(
        "We report on the first 180 days of a community microgrid with 214 homes, 480 kilowatts "
        "of rooftop solar power and a battery of 1.5 megawatt-hours. From 9 May to 4 November "
        "2025 the microgrid separated from the public network seven times, three of them "
        "unplanned, and ran alone for 25 hours and 50 minutes in total. Six of the seven "
        "transitions were made without any interruption. During the longest event, which lasted "
        "11 hours and 40 minutes, a text message to households lowered demand by 17 per cent. We "
        "describe the one failed transition and what we changed after it."
    ),
    keywords="microgrid, islanding, battery storage, demand response, resilience",
    sections=[
        Section(
            title="1 Introduction",
            body=[
                "Small islands are connected to the mainland network by a single cable or not at "
                "all. When the connection fails, people wait for a boat with a crew. A microgrid "
                "that can separate and carry on alone turns a long outage into a short flicker. "
                "Such systems have been described for hospitals and campuses [1], but there are "
                "few reports on systems that are owned and run by the residents themselves.",
                "The Skerrick microgrid went live on 9 May 2025 after three years of planning. "
                "It is operated by an association, and twelve residents share the duty on call. "
                "This paper describes how it performed in its first six months. We pay special "
                "attention to what went wrong, because this is what others can use.",
            ],
        ),
        Section(
            title="2 System",
            body=[
                "The microgrid supplies 214 homes on the west side of Skerrick. It consists of a "
                "lithium iron phosphate battery of 1.5 megawatt-hours, a grid-forming inverter "
                "of 400 kilowatts and solar panels of 480 kilowatts on 96 roofs. A vacuum "
                "breaker separates it from the public network. The controller opens this breaker "
                "when the voltage has been below 90 per cent of its nominal value for 200 "
                "milliseconds, or when the frequency leaves the band from 49 to 51 hertz.",
                "The battery is kept at no less than 40 per cent in normal operation, so that "
                "there is always a reserve for an emergency. Below 50 per cent in islanded "
                "operation, households are asked to save. Below 30 per cent, heat pumps are "
                "switched off for at most 90 minutes, except in homes on the medical register.",
            ],
        ),
        Section(
            title="3 Data and method",
            body=[
                "We use the log of the controller, which has one value per second, and the "
                "readings of the household meters every quarter of an hour. An event begins when "
                "the breaker opens and ends when it closes again. We call a transition seamless "
                "when no household meter recorded a voltage below 80 per cent. Demand response "
                "is measured against the mean of the same hours on the five weekdays before. "
                "After the longest event we also interviewed 38 households.",
            ],
        ),
        Section(
            title="4 Results",
            body=[],
        ),
        Section(
            title="4.1 Events",
            body=[
                "There were seven events (Table 1). Four were planned tests of two hours each. "
                "The three others were caused by faults in the public network. The microgrid "
                "served 99.6 per cent of the demand while it ran alone.",
                Rows(
                    caption="Table 1. Islanding events from 9 May to 4 November 2025.",
                    rows=[
                        ["Date", "Cause", "Duration", "Seamless", "Lowest charge"],
                        ["21 May", "Planned test", "2 h 00 min", "yes", "71%"],
                        ["18 June", "Planned test", "2 h 00 min", "yes", "74%"],
                        ["27 June", "Switching fault", "0 h 50 min", "no", "80%"],
                        ["16 July", "Planned test", "2 h 00 min", "yes", "77%"],
                        ["19 August", "Storm", "11 h 40 min", "yes", "22%"],
                        ["17 September", "Planned test", "2 h 00 min", "yes", "69%"],
                        ["14 October", "Network outage", "5 h 20 min", "yes", "48%"],
                    ],
                ),
            ],
        ),
        Section(
            title="4.2 The failed transition",
            body=[
                "On 27 June the west side was dark for 48 seconds. The breaker opened as it "
                "should, but the inverter had been left in the mode for following the grid after "
                "an update the day before, and it could not hold the voltage. The volunteer on "
                "call restarted it by hand from her kitchen. Since then, the controller checks "
                "the mode every hour and raises an alarm if it is wrong. No update may be "
                "installed on the day before a weekend or a holiday.",
            ],
        ),
        Section(
            title="4.3 The storm of 19 August",
            body=[
                "A fallen tree cut the mainland line at 10:20 in the morning. The battery was at "
                "96 per cent. The sky was dark and the solar panels gave only 420 kilowatt-hours "
                "during the whole event. At 16:00 the coordinator sent a text message to all "
                "households and asked them not to use ovens, tumble dryers and electric showers "
                "until the morning. Mean demand fell from 141 to 117 kilowatts, a reduction of "
                "17 per cent. When the line came back at 22:00, the battery held 22 per cent.",
                "Without the message, about 12 per cent would have been left according to our "
                "simulation, so the saving was not strictly needed that day. It would have been "
                "decisive if the repair had taken until the next morning.",
                "In the interviews, 31 of 38 households said that they had read the message "
                "within half an hour. Those who had not were mostly older than 75. The most "
                "common wish was for a second message that says when it is over.",
            ],
        ),
        Section(
            title="4.4 Everyday value",
            body=[
                "In normal operation the battery stores solar power at noon and gives it back in "
                "the evening. Over the 180 days the homes covered 63 per cent of their demand "
                "with power from their own roofs. Losses in battery and inverter were 11 per "
                "cent, slightly more than the maker had promised. The cooling of the battery "
                "room was the largest part of it.",
            ],
        ),
        Section(
            title="5 Discussion",
            body=[
                "Three lessons stand out. First, planned tests are worth their trouble. The "
                "wrong mode of 27 June would have been found if the update had been followed by "
                "a test, and since August each update is. Second, people respond when they are "
                "asked plainly and told why. A price signal would have been slower and less "
                "fair. Third, rules that limit comfort must be agreed on beforehand: the debate "
                "on heat pumps took the assembly two evenings, and nobody complained when the "
                "rule was first applied.",
                "The system also has limits. On a dark winter day the battery lasts for about "
                "nine hours without savings. The second stage, with a further 0.5 "
                "megawatt-hours, is meant to bring this to twelve. A longer outage will still "
                "need a generator or a boat.",
                "Our data end in early November and therefore contain no winter. Demand in "
                "January is about twice that of August, and we expect the share of demand that "
                "is served during an event to be lower then.",
            ],
        ),
        Section(
            title="6 Conclusion",
            body=[
                "A microgrid run by its residents can be reliable. It kept 214 homes supplied "
                "through two long outages in which the neighbouring villages were dark. What "
                "made the difference was less the technology than the twelve people who know "
                "how to use it.",
            ],
        ),
        Section(
            title="Data availability",
            body=[
                "Operating data are published every quarter by Skerrick Energy Commons. The "
                "names of households have been removed.",
            ],
        ),
    ],
    references=[
        "[1] J. Marlow. Islanded operation of campus networks: a review. Fictional Transactions "
        "on Power 14 (2021), 310-332.",
        "[2] A. Bright and T. Noon. Text messages as demand response. Energy and Village Life 3 "
        "(2022), 77-85.",
        "[3] H. Dall. Choosing a reserve level for small batteries. Halden Technical Notes 5 "
        "(2024), 1-9.",
    ],
)

REPAIR = Paper(
    file="repair-outcomes.pdf",
    title="What Gets Fixed: Outcomes of 1,284 Repair Attempts at Community Cafés",
    authors="Priya Lindqvist and Samuel Achterberg",
    affiliation="Halden Repair Network, Port Merrow",
    journal="Repair and Society, Working Paper 9 (October 2025)",
    font="Helvetica",
    size=10.8,
    abstract=(
        "Repair cafés are popular, but little is known about what they achieve. We evaluate the "
        "cards of 1,284 repair attempts made from January to August 2025 at four cafés on the "
        "Halden Sound. Of all items, 64 per cent were repaired, 21 per cent left with advice on "
        "the next step and 15 per cent could not be helped. Textiles did best, with 91 per cent "
        "repaired, and electronics worst, with 33 per cent. The most frequent reason for failure "
        "was not a lack of skill but a housing that could not be opened without breaking it."
    ),
    keywords="repair, reuse, volunteers, product design, waste prevention",
    sections=[
        Section(
            title="1 Introduction",
            body=[
                "At a repair café, volunteers help visitors to mend their own things. The idea "
                "has spread to many countries, and its friends expect a lot from it: less waste, "
                "lower costs, new skills and company [1]. Critics reply that a few hundred "
                "toasters will not change the world. Both sides often argue without numbers.",
                "The Halden Repair Network has kept a card for each item since it was started in "
                "February 2022. In this paper we use the cards of eight months to answer three "
                "questions. What do people bring? What becomes of it? And where repair fails, "
                "why does it fail?",
            ],
        ),
        Section(
            title="2 Data",
            body=[
                "We evaluated all cards from January to August 2025 of the cafés in Port Merrow, "
                "Skerrick, Oldwick and at Tern Point. The floating café had not yet begun. A "
                "card has eleven fields, among them the kind of item, its age, the fault, the "
                "result and, if the item was not repaired, the main reason.",
                "An item counts as repaired when it does again what the visitor wants it to do. "
                "It counts as advised when the visitor leaves with a clear next step, such as "
                "the number of a spare part or the address of a workshop. All other items count "
                "as not repaired. Two coders went through a sample of 150 cards independently "
                "and agreed on 94 per cent of them.",
                "In total there were 1,311 cards. We left out 27 cards on which the result was "
                "missing, so that 1,284 remained.",
            ],
        ),
        Section(
            title="3 Results",
            body=[],
        ),
        Section(
            title="3.1 What people bring",
            body=[
                "Small electrical appliances are the largest group with 511 items, or 40 per "
                "cent. They are followed by textiles, bicycles, electronics and furniture. The "
                "mean age of an item is nine years. Coffee machines, lamps and vacuum cleaners "
                "are the three most frequent single items.",
            ],
        ),
        Section(
            title="3.2 What becomes of it",
            body=[
                "Of 1,284 items, 822 were repaired, 270 were advised and 192 were not repaired. "
                "The differences between the groups are large (Table 1).",
                Rows(
                    caption="Table 1. Items and share repaired by group, January to August 2025.",
                    rows=[
                        ["Group", "Items", "Repaired", "Share"],
                        ["Textiles", "302", "275", "91%"],
                        ["Bicycles", "188", "162", "86%"],
                        ["Furniture and wood", "121", "90", "74%"],
                        ["Small electrical", "511", "242", "47%"],
                        ["Electronics", "162", "53", "33%"],
                        ["All", "1,284", "822", "64%"],
                    ],
                ),
                "The four cafés differ less than we had expected. Their shares range from 61 per "
                "cent in Skerrick to 67 per cent in Oldwick, and most of this is explained by "
                "the mix of items: Oldwick has the strongest sewing table.",
                "Age works in favour of repair. Appliances that were more than fifteen years old "
                "were repaired in 58 per cent of all cases, those of less than five years only "
                "in 36 per cent. Older devices are held together by screws, newer ones by glue "
                "and clips.",
            ],
        ),
        Section(
            title="3.3 Why repair fails",
            body=[
                "For the 192 items that were not repaired, the cards name one main reason each. "
                "In 71 cases the housing could not be opened without destroying it. In 52 cases "
                "no spare part was to be had, or it cost more than half the price of a new "
                "device. In 38 cases the fault was not found in the time available. In 19 cases "
                "the item failed the safety test, and in 12 cases there was no volunteer with "
                "the right skill.",
                "Lack of skill is thus the rarest reason. This contradicts what many volunteers "
                "believe of themselves. In a short survey, two thirds of them named their own "
                "lack of knowledge as the main obstacle.",
            ],
        ),
        Section(
            title="3.4 Weight and waste",
            body=[
                "The repaired items weighed 4.1 tonnes in total. Not all of this is waste "
                "avoided, because some owners would have used a broken item for longer or had it "
                "repaired elsewhere. In follow-up calls after three months, 88 of 104 repaired "
                "items were still in use. If we assume that half of the owners would have thrown "
                "the item away, the cafés prevented about 1.7 tonnes of waste in eight months.",
            ],
        ),
        Section(
            title="4 Discussion",
            body=[
                "Our numbers support a modest view. Repair cafés keep a noticeable but small "
                "amount of material in use. Their greater value may lie in what they reveal: "
                "they are one of the few places where the inside of products is seen by people "
                "who do not sell them.",
                "For practice we draw three conclusions. Cafés should not be judged by a single "
                "share, because a café with many sewing machines will always look better than "
                "one with many telephones. Time is more often lacking than skill, so that a "
                "second appointment should be offered as a matter of course. And the reasons for "
                "failure should be published by brand, since this is the only pressure that we "
                "can exert.",
                "There is no agreement between the authors on one point. The first author holds "
                "that the cafés should remain free of charge. The second author considers a "
                "deposit for spare parts reasonable. The data cannot settle this question.",
            ],
        ),
        Section(
            title="4.1 Limitations",
            body=[
                "The cards are filled in by volunteers who want to succeed, and some advised "
                "items may have been counted too kindly. People also choose what they bring: a "
                "visitor who believes that a telephone cannot be repaired leaves it in the "
                "drawer. Our shares are therefore no estimate of how repairable products are in "
                "general.",
            ],
        ),
        Section(
            title="5 Conclusion",
            body=[
                "Nearly two thirds of all things that are carried to a repair café on the Halden "
                "Sound leave it in working order. Where repair fails, the cause lies more often "
                "in the design of the product than in the hands of the helper.",
            ],
        ),
        Section(
            title="Funding and interests",
            body=[
                "The network received 18,000 euros from the community benefit fund in 2025. Both "
                "authors volunteer at a café.",
            ],
        ),
    ],
    references=[
        "[1] M. Okello. Mending together. Journal of Imagined Sociology 22 (2020), 5-27.",
        "[2] D. Farrow and S. Lin. Screws, clips and glue: a teardown of 60 kettles. Design and "
        "Repair 4 (2023), 118-131.",
        "[3] E. Holt. Counting what is not thrown away. Waste Notes 17 (2022), 9-20.",
    ],
)

FACES = {
    "Times": ("Times-Roman", "Times-Bold", "Times-Italic"),
    "Helvetica": ("Helvetica", "Helvetica-Bold", "Helvetica-Oblique"),
}


def story(paper: Paper) -> list[Flowable]:
    """The flowing content of ``paper``: its head, its sections and its references."""
    plain, bold, italic = FACES[paper.font]
    size, lead = paper.size, paper.size * 1.42
    body = ParagraphStyle(
        "body",
        fontName=plain,
        fontSize=size,
        leading=lead,
        alignment=TA_JUSTIFY,
        spaceAfter=lead * 0.4,
        hyphenationLang=None,
        embeddedHyphenation=0,
    )
    title = ParagraphStyle(
        "title", fontName=bold, fontSize=17, leading=21, alignment=TA_CENTER, spaceAfter=8
    )
    centred = ParagraphStyle(
        "authors", fontName=plain, fontSize=11, leading=14, alignment=TA_CENTER
    )
    small = ParagraphStyle(
        "affiliation", fontName=italic, fontSize=9.5, leading=12, alignment=TA_CENTER
    )
    abstract = ParagraphStyle("abstract", parent=body, leftIndent=9 * mm, rightIndent=9 * mm)
    head = ParagraphStyle(
        "head", fontName=bold, fontSize=size + 1.7, leading=lead + 2, spaceBefore=6, spaceAfter=3
    )
    subhead = ParagraphStyle("subhead", parent=head, fontSize=size + 0.3, spaceBefore=3)
    caption = ParagraphStyle(
        "caption", parent=body, fontName=italic, fontSize=size - 1, leading=lead - 1, spaceAfter=3
    )
    source = ParagraphStyle(
        "source",
        parent=body,
        fontSize=size - 1,
        leading=lead - 1.2,
        leftIndent=5 * mm,
        firstLineIndent=-5 * mm,
        alignment=0,
    )

    flow: list[Flowable] = [
        Paragraph(paper.title, title),
        Paragraph(paper.authors, centred),
        Paragraph(paper.affiliation, small),
        Spacer(1, 10),
        Paragraph(f'<font name="{bold}">Abstract.</font> {paper.abstract}', abstract),
        Paragraph(f'<font name="{bold}">Keywords:</font> {paper.keywords}', abstract),
        NextPageTemplate("later"),
    ]
    if paper.columns == 1:
        flow.append(Spacer(1, 6))
    else:
        flow.append(FrameBreak())
    for section in paper.sections:
        number = section.title.split(" ")[0]
        heading = Paragraph(section.title, subhead if "." in number else head)
        heading.keepWithNext = True
        flow.append(heading)
        for part in section.body:
            if isinstance(part, str):
                flow.append(Paragraph(part, body))
            else:
                flow.append(table(part, caption, plain, bold, size))
    references = Paragraph("References", head)
    references.keepWithNext = True
    flow.append(references)
    flow.extend(Paragraph(text, source) for text in paper.references)
    return flow


def table(part: Rows, caption: ParagraphStyle, plain: str, bold: str, size: float) -> Flowable:
    """``part`` as a ruled table under its caption."""
    grid = Table([list(row) for row in part.rows], hAlign="CENTER", spaceAfter=8)
    grid.setStyle(
        TableStyle(
            [
                ("FONT", (0, 0), (-1, -1), plain, size - 1),
                ("FONT", (0, 0), (-1, 0), bold, size - 1),
                ("LINEABOVE", (0, 0), (-1, 0), 0.8, colors.black),
                ("LINEBELOW", (0, 0), (-1, 0), 0.5, colors.black),
                ("LINEBELOW", (0, -1), (-1, -1), 0.8, colors.black),
                ("TOPPADDING", (0, 0), (-1, -1), 1.5),
                ("BOTTOMPADDING", (0, 0), (-1, -1), 2.5),
            ]
        )
    )
    return KeepTogether([Paragraph(part.caption, caption), grid])


def write(paper: Paper, folder: Path) -> Path:
    """Set ``paper`` and return the file it was written to."""
    width, height = A4
    inner, top, bottom = width - 2 * MARGIN, height - 20 * mm, 22 * mm
    plain, _, italic = FACES[paper.font]

    def footer(canvas: Canvas, _doc: BaseDocTemplate) -> None:
        canvas.saveState()
        canvas.setFont(italic, 8.5)
        canvas.drawString(MARGIN, 13 * mm, paper.journal)
        canvas.setFont(plain, 8.5)
        canvas.drawRightString(width - MARGIN, 13 * mm, str(canvas.getPageNumber()))
        canvas.restoreState()

    def frame(x: float, wide: float, high: float) -> Frame:
        return Frame(
            x, bottom, wide, high, leftPadding=0, rightPadding=0, topPadding=0, bottomPadding=0
        )

    whole = top - bottom
    if paper.columns == 1:
        first = later = [frame(MARGIN, inner, whole)]
    else:
        wide = (inner - GUTTER) / 2
        banner = 92 * mm
        starts = (MARGIN, MARGIN + wide + GUTTER)
        later = [frame(x, wide, whole) for x in starts]
        head = Frame(
            MARGIN,
            top - banner,
            inner,
            banner,
            leftPadding=0,
            rightPadding=0,
            topPadding=0,
            bottomPadding=0,
        )
        first = [head, *(frame(x, wide, whole - banner) for x in starts)]

    target = folder / paper.file
    document = BaseDocTemplate(
        str(target),
        pagesize=A4,
        title=paper.title,
        author=paper.authors,
        subject=paper.journal,
        keywords=paper.keywords,
        creator="Wellread sample papers",
        lang="en",
        invariant=1,
    )
    document.addPageTemplates(
        [
            PageTemplate(id="first", frames=first, onPageEnd=footer),
            PageTemplate(id="later", frames=later, onPageEnd=footer),
        ]
    )
    document.build(story(paper))
    return target


def main() -> None:
    """Write all papers to the folder given, or to the sample knowledge base."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else SAMPLE
    folder.mkdir(parents=True, exist_ok=True)
    for paper in (SEAGRASS, MICROGRID, REPAIR):
        target = write(paper, folder)
        print(f"{target} ({target.stat().st_size} bytes)")


if __name__ == "__main__":
    main()
