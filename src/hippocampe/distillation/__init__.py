"""Distillation of talk into memories, in the background, with or without a language model."""
