"""The offline model: a small OpenAI-compatible HTTP server for trying the product, testing and measuring it.

Its embeddings are a real model; its chat and structured answers are plain rules and say so. Nothing outside this folder
depends on it. Run it with `python -m webapp.llm.offline`, or by path (`python webapp/llm/offline`).
"""
