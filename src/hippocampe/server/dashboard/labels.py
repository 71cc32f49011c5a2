"""Labels of the library's values: jobs, categories, purposes."""

from collections.abc import Mapping

from hippocampe.server.dashboard.wording import marked

JOBS: Mapping[str, str] = {
    "extract": marked("extraction"),
    "digest": marked("digest"),
    "compact": marked("compaction"),
    "settle": marked("settling of pairs"),
    "expire": marked("expiry"),
    "decay": marked("decay"),
    "prune": marked("pruning"),
}
STATES: Mapping[str, str] = {
    "waiting": marked("waiting"),
    "running": marked("running"),
    "done": marked("done"),
    "failed": marked("will be retried"),
    "parked": marked("needs you"),
}
MEANINGS: Mapping[str, str] = {
    "waiting": "",
    "running": "",
    "done": "good",
    "failed": "attention",
    "parked": "danger",
}
"""The meaning of a state, as the CSS class of its tag."""
CATEGORIES: Mapping[str, str] = {
    "self/context": marked("Context"),
    "self/capability": marked("Capabilities"),
    "self/limitation": marked("Limitations"),
    "self/preference": marked("Preferences"),
    "self/relation": marked("Relations"),
    "goal/capability_request": marked("Wished capabilities"),
    "goal/understanding": marked("To understand"),
    "goal/connection": marked("To connect"),
}
PURPOSES: Mapping[str, str] = {
    "chat": marked("conversation"),
    "deep_recall": marked("deep recall"),
    "extract": marked("extraction"),
    "digest": marked("digest"),
    "compact": marked("compaction"),
    "settle": marked("settling of pairs"),
}
