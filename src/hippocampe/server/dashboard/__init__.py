"""Render the dashboard: server-side pages, their templates and static files."""
