"""The store, the source of truth: one SQLite database, described by an SQLAlchemy Core schema."""
