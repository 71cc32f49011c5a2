"""Divide the open memory into parts for the steps: a corpus to read, a writer to change; settings, outages, audit."""
