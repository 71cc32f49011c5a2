"""Offer the verbs as REST endpoints, the private RPC of the Python client, and the OpenAPI document."""
