"""Answer hooks of coding agents: memory for each prompt, and each exchange stored.

The agent waits for the process, so it loads only small modules of the standard library: no `typing`, no
`dataclasses`, no `pathlib`.
"""
