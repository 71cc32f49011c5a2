"""Store everything in one SQLite database, described by an SQLAlchemy Core schema."""
