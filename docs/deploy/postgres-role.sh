# Run by the image of PostgreSQL when it initialises the database: the role of Hippocampe, and its database.
psql --set password="$HIPPOCAMPE_PASSWORD" <<'SQL'
CREATE ROLE hippocampe LOGIN PASSWORD :'password';
CREATE DATABASE hippocampe OWNER hippocampe ENCODING 'UTF8' TEMPLATE template0;
SQL
