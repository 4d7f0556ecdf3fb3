"""Language models: chat streaming, structured completion and embeddings over any OpenAI-compatible server.

Nothing is imported here on purpose: the SDK costs about 40 MB and half a second, and the offline server needs none
of it.
"""
