"""Texts that a client's program writes in the name of the user."""

MACHINE_MADE = (
    *("<command-", "<local-command-", "<system-reminder>", "<bash-"),
    "<task-notification>",
    *("Caveat: The messages below", "[Request interrupted by user"),
)
"""Beginnings of such texts of coding agents."""
