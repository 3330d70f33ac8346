"""German notes that were written before any rule was tried, and read only to measure."""

from __future__ import annotations

# For each note two questions, and words of the sentence that answers.
NOTES = {
    "kläranlage": (
        "Die Kläranlage reinigt täglich 5.200 Kubikmeter Abwasser. Seit dem 12. Oktober 2023 "
        "erzeugt sie ihren Strom selbst. Betriebsleiterin ist Jana Kröger.",
        ("Seit wann erzeugt die Kläranlage ihren Strom selbst?", "12. Oktober 2023"),
        ("Wie viel Abwasser wird täglich gereinigt?", "5.200 Kubikmeter"),
    ),
    "turnhalle": (
        "Das Dach der Turnhalle ist undicht. Die Sanierung hat der Gemeinderat am 8. Mai "
        "beschlossen. Sie soll 640.000 Euro kosten und im Sommer beginnen.",
        ("Wie teuer wird die Sanierung der Turnhalle?", "640.000 Euro"),
        ("Wann hat der Gemeinderat die Sanierung beschlossen?", "8. Mai"),
    ),
    "wanderweg": (
        "Der Wanderweg Nr. 7 beginnt am Forsthaus Grünau. Er ist 11,4 Kilometer lang. Die "
        "Brücken pflegt der Alpenverein, denn der Gemeinde fehlt das Geld.",
        ("Wo beginnt der Wanderweg Nr. 7?", "am Forsthaus Grünau"),
        ("Wer kümmert sich um die Pflege der Brücken?", "Alpenverein"),
    ),
    "kindergarten": (
        "Der Waldkindergarten nimmt Kinder ab drei Jahren auf. Zwei Erzieherinnen betreuen "
        "achtzehn Kinder. Bei Gewitter geht die Gruppe in die Schutzhütte.",
        ("Ab welchem Alter werden Kinder aufgenommen?", "ab drei Jahren"),
        ("Wohin geht die Gruppe bei einem Gewitter?", "in die Schutzhütte"),
    ),
    "glocke": (
        "Die große Glocke der Kirche wiegt 2.150 Kilogramm. Gegossen hat sie 1687 der Meister "
        "Hans Ernst. Im Krieg wurde sie im Moor versteckt, damit man sie nicht einschmolz.",
        ("Wie schwer ist die große Glocke?", "2.150 Kilogramm"),
        ("Weshalb wurde die Glocke im Moor versteckt?", "nicht einschmolz"),
    ),
    "flohmarkt": (
        "Der Flohmarkt findet an jedem ersten Sonnabend auf dem Kornplatz statt. Ein Stand "
        "kostet 12 Euro. Angemeldet haben sich bisher 73 Händlerinnen und Händler.",
        ("Auf welchem Platz findet der Flohmarkt statt?", "Kornplatz"),
        ("Wie viele Händler haben sich angemeldet?", "73 Händlerinnen"),
    ),
}
