"""Pure text: words, stems, canonical forms, tokens, shortening, quotes, languages."""
