"""The local reader: a small encoder that reads two statements together. An optional extra."""
