"""`python -m webapp.cli.client`: the command without installing it."""

from webapp.cli.client.main import main

if __name__ == "__main__":
    main()
