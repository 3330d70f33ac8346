"""German: questions in German on German notes, with dates, numbers, persons and word forms."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from wellread.ask.answer import answer, final
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.values.answers import Question

# For each note two questions, and words of the sentence that answers.
NOTES = {
    "bootshaus": (
        "Das Bootshaus am Südufer wurde am 3. März 2024 eröffnet. Die Bauarbeiten dauerten vierzehn "
        "Monate. Im Erdgeschoss liegen die Ruderboote, im 1. Stock trifft sich der Verein.",
        ("Wann wurde das Bootshaus eröffnet?", "3. März 2024"),
        ("Wie lange haben die Bauarbeiten gedauert?", "vierzehn Monate"),
    ),
    "imkerei": (
        "Die Imkerei Sonnhalde hält 38 Bienenvölker. Geleitet wird sie von Frau Dr. Ulrike Pabst. "
        "Der Honig wird auf zwei Wochenmärkten verkauft.",
        ("Wie viele Bienenvölker hält die Imkerei?", "38 Bienenvölker"),
        ("Wer leitet die Imkerei?", "Ulrike Pabst"),
    ),
    "bibliothek": (
        "Die Stadtbibliothek verleiht auch Werkzeuge. Eine Bohrmaschine kostet pro Tag 4 Euro. "
        "Verspätete Rückgaben werden mit 50 Cent je Tag berechnet. Montags ist geschlossen.",
        ("Was kostet das Ausleihen einer Bohrmaschine?", "4 Euro"),
        ("An welchem Tag ist die Bibliothek geschlossen?", "Montags"),
    ),
    "seilbahn": (
        "Die Seilbahn führt vom Talbahnhof auf den Rauhkopf. Sie überwindet 912 Höhenmeter. "
        "Bei Sturm wird der Betrieb eingestellt, weil die Kabinen sonst zu stark schwanken.",
        ("Wohin führt die Seilbahn?", "auf den Rauhkopf"),
        ("Warum wird der Betrieb bei Sturm eingestellt?", "weil die Kabinen"),
    ),
    "chor": (
        "Der Gemischte Chor Altenried probt donnerstags im Pfarrhaus. Gegründet wurde er 1921 von "
        "dem Lehrer Anton Wieser. Heute singen 46 Frauen und Männer mit.",
        ("Wer hat den Chor gegründet?", "Anton Wieser"),
        ("In welchem Haus probt der Chor?", "im Pfarrhaus"),
    ),
    "käserei": (
        "In der Käserei am Mühlbach reift der Bergkäse neun Monate. Für einen Laib braucht man etwa "
        "80 Liter Milch. Die Milch liefern sieben Höfe aus dem Tal.",
        ("Wie viel Milch braucht man für einen Laib?", "80 Liter"),
        ("Wie viele Höfe liefern Milch?", "sieben Höfe"),
    ),
}
