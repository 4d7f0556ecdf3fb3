"""The rules of memory: pure, without web or database."""
