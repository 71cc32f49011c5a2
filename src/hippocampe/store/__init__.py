"""The truth: one SQLite database, described by an SQLAlchemy Core schema."""
