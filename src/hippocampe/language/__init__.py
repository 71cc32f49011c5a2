"""What is known of each language, as data: one folder per language. See `lexicon`."""
