"""Add memory to the requests of any client of a language model, in the protocols of OpenAI and Anthropic."""
