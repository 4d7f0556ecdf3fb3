"""Moving in and out: import of other programs' exports, and export of everything one has here."""
