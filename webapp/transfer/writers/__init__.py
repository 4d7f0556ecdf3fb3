"""One module a format that goes out; pure: they are given rows and write text or bytes."""
