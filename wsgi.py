"""The WSGI entry point: `gunicorn wsgi:app`, `flask --app wsgi`."""

import os

from flask import Flask

from webapp import create_app
from webapp.shell.command_line import CommandLine

app: Flask = CommandLine() if os.environ.get("FLASK_RUN_FROM_CLI") else create_app()
