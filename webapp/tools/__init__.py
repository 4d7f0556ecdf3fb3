"""The tools a model may use in a turn: memory, arithmetic, dates, and those that are added."""
