"""The tools a model may use in a turn: memory, arithmetic, dates, the web, and those of servers and clients."""
