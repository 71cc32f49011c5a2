"""The local reader: a small cross-encoder for pairs of statements. An optional extra."""
