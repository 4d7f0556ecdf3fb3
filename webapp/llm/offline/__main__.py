"""Run the offline model server, as a module or by path."""

import sys
import types
from pathlib import Path

if not __package__:
    # Run by path: make the parent packages importable without running the application's own __init__.
    root = Path(__file__).resolve().parents[2]
    application = types.ModuleType(root.name)
    application.__path__ = [str(root)]
    sys.modules[root.name] = application
    sys.path[0] = str(root.parent)

from webapp.llm.offline.server import main

if __name__ == "__main__":
    main()
