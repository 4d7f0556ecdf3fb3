"""`commonplace`: chat, search, memory, import and export from a terminal or a cron job, over HTTP with a token.

It uses none of the server's code: `pip install .` installs this package and click alone.
"""
