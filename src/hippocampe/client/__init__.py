"""Use a memory that another process owns, and serve one to other processes of the same user; answer hooks.

`remote` has the verbs of `Hippocampe` over HTTP, `joining` finds or starts the owner of a folder, `host` is the
serving side. Importing the package loads nothing: a coding agent waits for `hooks`.
"""
