"""Background work that programs request, and the state of a job."""
