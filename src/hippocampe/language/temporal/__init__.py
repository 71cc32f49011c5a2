"""Parse time expressions: grammar → resolve → confirmation → expressions → window and events."""
