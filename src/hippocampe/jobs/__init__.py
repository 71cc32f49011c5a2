"""Background jobs: the ledger, the runner, the schedule."""
