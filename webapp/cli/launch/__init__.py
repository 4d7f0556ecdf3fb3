"""Running all of Commonplace on one machine: `python -m webapp.cli.launch`, which is what `make run` does.

The standard library only, and nothing of the application: the process that watches the others stays small, and an
error in the application cannot take it down.
"""
