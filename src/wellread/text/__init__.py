"""Language, parsed once: words, stems, sentences, names, numbers, quantities, dates."""
