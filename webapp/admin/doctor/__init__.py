"""`flask --app wsgi doctor`: what is wrong with how an installation is set up, and what to do about it."""
