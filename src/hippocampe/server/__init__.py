"""Serve a memory over HTTP and MCP, with a dashboard and a model proxy."""
