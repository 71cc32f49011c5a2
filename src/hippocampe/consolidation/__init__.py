"""Compare a new statement with existing ones: repeat, update, detail or contradiction."""
