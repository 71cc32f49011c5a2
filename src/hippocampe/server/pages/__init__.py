"""The dashboard: server-rendered pages that HTMX updates in place."""
