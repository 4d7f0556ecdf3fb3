"""Connections to model servers, what each can do, and which models are offered to whom."""
