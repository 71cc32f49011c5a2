"""Run the command line with `python -m hippocampe`."""

from hippocampe.cli import main

if __name__ == "__main__":
    main()
