"""Background jobs: ids in, one service call. Web code names them by string (webapp/background/job_specs.py)."""
