"""A text's language, its stems, and the words of each language's file."""

from __future__ import annotations

from datetime import date

import pytest

from wellread.text import languages as module
from wellread.text.languages import document_language, language_of, languages, words_of
from wellread.text.parsed import index_text, parse, stem
from wellread.text.periods import expressions_of
from wellread.text.sentences import sentence_spans

TEXTS = {
    "en": "The pier is ninety metres long, and the boats lie behind it.",
    "de": "Die Mole ist neunzig Meter lang, und die Boote liegen dahinter.",
    "fr": "La jetée mesure quatre-vingt-dix mètres, et les bateaux sont derrière.",
    "es": "El muelle mide noventa metros y los barcos están detrás de él.",
    "nl": "De pier is negentig meter lang en de boten liggen erachter.",
    "ru": "Новый канат стоит двенадцать крон, а лодки стоят за молом.",
    "hi": "घाट की लंबाई नब्बे मीटर है और नावें उसके पीछे हैं।",
    "zh": "防波堤长九十米，船停在后面。",
}


@pytest.mark.parametrize("code", TEXTS)
def test_the_language_of_a_document(code: str) -> None:
    assert document_language(TEXTS[code]) == code


@pytest.mark.parametrize("text", ["", "4711", "Halden", "Bootshaus Süd 12"])
def test_too_little_text_has_no_language(text: str) -> None:
    assert document_language(text) == ""


def test_a_question_is_in_english_or_a_language_of_the_material() -> None:
    assert language_of("Wie lang ist die Mole?", {"de", "en"}) == "de"
    assert language_of("Wie lang ist die Mole?", {"de-AT"}) == "de"
    assert language_of("How long is the pier?", {"de"}) == "en"
    assert language_of("Wie lang ist die Mole?", {"fr", "en"}) in ("fr", "en")


def test_english_alone_loads_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_identifier", None)
    assert document_language(TEXTS["en"]) == "en"
    assert language_of("How long is the pier?", {"", "en", "en-GB"}) == "en"
    with pytest.raises(TypeError):
        language_of("How long is the pier?", {"en", "de"})


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("de", "Kindern", "Kind"),
        ("de-CH", "Häusern", "Haus"),
        ("fr", "bateaux", "bateau"),
        ("ru", "лодками", "лодки"),
        ("hi", "नावें", "नावों"),
    ],
)
def test_forms_of_a_word_share_a_stem(language: str, one: str, other: str) -> None:
    assert stem(one, language) == stem(other, language)
    assert stem(one) != stem(other)
    indexed, asked = (index_text(form, [language]).lower().split() for form in (one, other))
    assert set(indexed) & set(asked)


def test_english_is_indexed_as_it_is_written() -> None:
    assert index_text("The boats’ harbours", ["", "en", "en-GB", "ko"]) == "The boats’ harbours"


def test_stop_words_are_those_of_the_language() -> None:
    assert parse("Wer hat denn die Boote?", "de").terms == ("boote",)
    assert parse("Who has the boats?").terms == ("boats",)


@pytest.mark.parametrize("code", list(languages()))
def test_a_file_has_every_list(code: str) -> None:
    words = words_of(code)
    assert len(words.months) == 12
    assert words.abbreviations
    assert len(words.function_words) > 50
    assert len(words.stop_words) > len(words.function_words)
    assert all(asking == asking.lower() for asking in words.in_english)
    if code != "en":
        assert {"who", "when", "where", "why", "what", "how many", "how much"} <= {
            *words.in_english.values()
        }


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("eröffnet am 3. März 2024", date(2024, 3, 3), date(2024, 3, 3)),
        ("seit dem 12. April 2024", date(2024, 4, 12), date(2024, 4, 12)),
        ("im Oktober 2023", date(2023, 10, 1), date(2023, 10, 31)),
        ("am 8. Mai", date(2025, 5, 8), date(2025, 5, 8)),
    ],
)
def test_dates(text: str, first: date, last: date) -> None:
    (found,) = expressions_of(text, date(2026, 1, 1))
    assert (found.period.first, found.period.last) == (first, last)
    assert len(sentence_spans(f"Das war {text}.")) == 1
