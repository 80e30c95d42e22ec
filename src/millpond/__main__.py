"""`python -m millpond` is `mill`."""

import sys

from millpond.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
