"""`python -m hippocampe` is the command line."""

from hippocampe.cli import main

if __name__ == "__main__":
    main()
