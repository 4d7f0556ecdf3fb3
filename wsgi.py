"""The WSGI entry point: `gunicorn wsgi:app`, `flask --app wsgi`."""

import os

from flask import Flask

from webapp import create_app
from webapp.shell.command_line import CommandLine

app: Flask
if os.environ.get("FLASK_RUN_FROM_CLI"):
    app = CommandLine()
else:
    from webapp.config import exit_on_config_error  # seconds of loading that the help of `flask` does without

    with exit_on_config_error():
        app = create_app()
