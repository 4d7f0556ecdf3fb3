"""The prompt library: texts that people keep to begin messages with, their own and those of their spaces."""
