"""The prompt library: texts that people save to start messages with, their own and those of their spaces."""
