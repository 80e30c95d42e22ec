"""`python -m millpond.serve --repository DIR`: the model server."""

import sys

from .command import main

if __name__ == "__main__":
    sys.exit(main())
