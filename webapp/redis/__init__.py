"""Redis: clients, URLs, time-outs."""
