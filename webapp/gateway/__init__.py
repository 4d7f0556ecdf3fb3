"""An endpoint as OpenAI's clients expect it, so that any of them gets a person's memory, spaces and history."""
