"""`commonplace`: chat, search, memory, import and export from a terminal or a cron job, over HTTP with a token.

It uses nothing of the server's code, so that it can be installed alone: `pip install .` in the repository brings this
package and click.
"""
