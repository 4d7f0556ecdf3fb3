"""The WSGI entry point: `gunicorn wsgi:app`, `flask --app wsgi`."""

import os
import sys

from flask import Flask

from webapp import create_app
from webapp.shell.command_line import CommandLine

app: Flask
if os.environ.get("FLASK_RUN_FROM_CLI"):
    app = CommandLine()
else:
    from webapp.config import ConfigError  # seconds of loading that the help of `flask` does without

    try:
        app = create_app()
    except ConfigError as error:
        print(error, file=sys.stderr)
        sys.exit(3)  # by which gunicorn knows that another try will not help
