"""Setting up a clone: virtual environment, Python packages, browser assets, test servers.

Standard library only, for it runs before anything is installed: `python3 -m webapp.cli.prepare run|test|assets`.
Every step is idempotent, leaves its stamp last, and says what to do when it cannot go on.
"""
