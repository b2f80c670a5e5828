"""The command as ``python -m rankad.cli``."""

from rankad.cli import main

if __name__ == "__main__":
    main()
