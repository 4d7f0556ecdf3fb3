"""`commonplace`: chat, search, memory, import and export from a terminal or a cron job, over HTTP with a token.

It uses none of the server's code, so that it can be installed alone: `pip install .` in the repository installs this
package and click.
"""
