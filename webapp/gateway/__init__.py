"""An endpoint that OpenAI's clients can use, so that any of them gets a person's memory, spaces and history."""
