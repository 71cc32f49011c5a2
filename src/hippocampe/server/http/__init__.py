"""Guard and observe every request: keys, roles, limits, errors, idempotency, logs, metrics. Middleware and dependencies."""
