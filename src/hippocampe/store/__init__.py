"""The truth: one SQLAlchemy Core schema for SQLite and PostgreSQL."""
