"""Runs the command line as ``python -m wellread.serve.cli``."""

from wellread.serve.cli import main

if __name__ == "__main__":
    main()
