"""One module per kind of export; pure: they are given rows and return text or bytes."""
