"""Background work as programs ask for it, and the state of a job."""
