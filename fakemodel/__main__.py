"""Run the fake model's server, as a module or by path."""

import sys
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from fakemodel.server import main

if __name__ == "__main__":
    main()
