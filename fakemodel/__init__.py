"""The fake model: an OpenAI-compatible HTTP server for tests and benchmarks; replies, delays and faults are scripted.

Its embeddings are a real model. What no script answers is answered by rules, if it is structured, or with numbered
tokens. The product never uses it. Run it with `python -m fakemodel --port N --scripted`.
"""
