"""Turn talk into memories in the background, with or without a language model; run the jobs of all packages."""
