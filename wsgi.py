"""The WSGI entry point: `gunicorn wsgi:app`, `flask --app wsgi`."""

import os
from pathlib import Path

from webapp import create_app
from webapp.cli.launch.beside import beside_a_launch
from webapp.config import Settings

app = create_app(Settings.from_env(beside_a_launch(os.environ, Path.cwd())))
