"""Name values in the language of the reader, for terminals and pages alike: labels, reasons, counts, times, money."""
