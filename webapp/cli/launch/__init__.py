"""Running all of Commonplace on one machine: `python -m webapp.cli.launch`, which is what `make run` does.

The standard library only, so that it stays small and no error in the application takes it down.
"""
