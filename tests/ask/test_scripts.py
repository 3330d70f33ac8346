"""Questions in scripts that the default models cannot read: words decide, or nobody answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from wellread.ask.answer import answer, final
from wellread.ask.retrieve.search import search
from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.models.word_pieces import reads
from wellread.types import Filters
from wellread.values.answers import Question

# For each language four notes, a question for each, and a question that no note answers.
NOTES = {
    "de": (
        ("mole", "Die Mole ist neunzig Meter lang.", "Wie lang ist die Mole?"),
        ("kran", "Den Kran bedient seit Mai Frau Holm.", "Wer bedient den Kran?"),
        ("seil", "Ein Seil kostet zwölf Kronen.", "Was kostet ein Seil?"),
        ("boje", "Die rote Boje liegt vor dem Riff.", "Wo liegt die rote Boje?"),
    ),
    "ru": (
        ("mole", "Длина мола девяносто метров.", "Какова длина мола?"),
        ("kran", "Краном управляет Анна Холм.", "Кто управляет краном?"),
        ("seil", "Новый канат стоит двенадцать крон.", "Сколько стоит новый канат?"),
        ("boje", "Красный буй стоит перед рифом.", "Где стоит красный буй?"),
    ),
    "el": (
        ("mole", "Ο μόλος έχει μήκος ενενήντα μέτρα.", "Τι μήκος έχει ο μόλος;"),
        ("kran", "Τον γερανό χειρίζεται η Άννα Χολμ.", "Ποιος χειρίζεται τον γερανό;"),
        ("seil", "Το σχοινί κοστίζει δώδεκα κορώνες.", "Πόσο κοστίζει το σχοινί;"),
        ("boje", "Η κόκκινη σημαδούρα είναι στον ύφαλο.", "Πού είναι η κόκκινη σημαδούρα;"),
    ),
    "ar": (
        ("mole", "طول الرصيف تسعون مترا.", "ما طول الرصيف؟"),
        ("kran", "تشغل الرافعة آنا هولم.", "من تشغل الرافعة؟"),
        ("seil", "ثمن الحبل اثنا عشر كرونة.", "ما ثمن الحبل؟"),
        ("boje", "العوامة الحمراء أمام الشعاب.", "أين العوامة الحمراء؟"),
    ),
    "hi": (
        ("mole", "घाट की लंबाई नब्बे मीटर है।", "घाट की लंबाई कितनी है?"),
        ("kran", "क्रेन को अन्ना होल्म चलाती हैं।", "क्रेन को कौन चलाता है?"),
        ("seil", "रस्सी का दाम बारह क्राउन है।", "रस्सी का दाम क्या है?"),
        ("boje", "लाल बोया चट्टान के सामने है।", "लाल बोया कहाँ है?"),
    ),
    "zh": (
        ("mole", "防波堤长九十米。", "防波堤有多长？"),
        ("kran", "起重机由何安娜操作。", "谁操作起重机？"),
        ("seil", "一根绳子十二元。", "绳子多少钱？"),
        ("boje", "红色浮标在暗礁前面。", "红色浮标在哪里？"),
    ),
    "th": (
        ("mole", "เขื่อนยาวเก้าสิบเมตร", "เขื่อนยาวเท่าไร"),
        ("kran", "แอนนาเป็นคนขับเครน", "ใครขับเครน"),
        ("seil", "เชือกราคาสิบสองบาท", "เชือกราคาเท่าไร"),
        ("boje", "ทุ่นสีแดงอยู่หน้าแนวปะการัง", "ทุ่นสีแดงอยู่ที่ไหน"),
    ),
}
ABSENT = {"ru": "Когда открывается музей?", "zh": "机场几点关门？", "th": "พิพิธภัณฑ์เปิดกี่โมง"}


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("scripts")
    for language, notes in NOTES.items():
        for name, text, _ in notes:
            path = folder / "notes" / language / f"{name}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n", encoding="utf-8")
    with open_kb(folder / "home") as opened:
        add(opened, [str(folder / "notes")])
        yield opened


@pytest.mark.parametrize("language", NOTES)
def test_the_note_with_the_words_is_the_first(kb: KnowledgeBase, language: str) -> None:
    for name, _, question in NOTES[language]:
        first = search(kb, question, Filters())[0].document.uri
        assert first.endswith(f"{language}/{name}.md"), question


@pytest.mark.parametrize("language", NOTES)
def test_the_answer_cites_no_other_note(kb: KnowledgeBase, language: str) -> None:
    for name, text, question in NOTES[language]:
        found = asyncio.run(final(answer(kb, Question(text=question, fresh=True))))
        assert found.citations[0].title == name.title(), question
        assert text in found.text


@pytest.mark.parametrize("question", ABSENT.values())
def test_a_question_of_unknown_words_is_declined(kb: KnowledgeBase, question: str) -> None:
    found = asyncio.run(final(answer(kb, Question(text=question, fresh=True))))
    assert not found.citations


def test_what_the_vocabulary_spells_it_does_not_read() -> None:
    for read in ("BBQ?", "Wie groß?", "Kto kieruje biblioteką?", "naïve", "R0", "Où ça?", ""):
        assert reads(read), read
    for spelt in ("绳子多少钱", "Кто это", "من", "ใคร", "कौन"):
        assert not reads(spelt), spelt
