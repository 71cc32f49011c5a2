"""Run background work from a ledger, at its time, with retries."""
