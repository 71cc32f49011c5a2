"""The server: a memory over HTTP. Needs the extra `server`."""
