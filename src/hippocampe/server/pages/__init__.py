"""The dashboard: pages that are rendered here and that HTMX updates in place."""
