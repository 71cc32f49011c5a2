"""Run the verbs from a terminal."""

import sys
import warnings

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    if sys.argv[1:2] == ["hook"]:
        # A coding agent waits for it: the rest of the command line takes too long to load.
        from hippocampe.client.hooks.events import run

        if run(sys.argv[2:]):
            return
    from hippocampe.errors import HippocampeError
    from hippocampe.system import garbage

    garbage.collect_rarely()
    # Leaving cancels background calls of a model; the agent library drops coroutines that it has not begun.
    warnings.filterwarnings("ignore", r"coroutine '.*' was never awaited", RuntimeWarning)
    try:
        from hippocampe.cli import app

        app.main()
    except HippocampeError as exc:
        # Nothing can be translated: the data of a language cannot be read.
        print(f"error: {exc}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        # The command had not begun: there is nothing to say.
        sys.exit(130)
