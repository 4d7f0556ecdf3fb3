"""Language models: chat streaming, structured completion and embeddings over any OpenAI-compatible server.

Deliberately imports nothing: the SDK costs about 40 MB and half a second, and the screen tour needs none of it.
"""
