"""The database: base classes, the engine, transactions."""
