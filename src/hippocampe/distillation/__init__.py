"""Talk to memories, in the background, with or without a language model."""
