"""Connect to language models of any provider that Pydantic AI supports."""
