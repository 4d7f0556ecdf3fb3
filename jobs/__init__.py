"""Background jobs: ids in, one service call. Web code names them by string (webapp/jobspecs.py)."""
