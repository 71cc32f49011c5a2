"""Compare a new statement with an old one: repeat, update, detail or contradiction. No I/O."""
