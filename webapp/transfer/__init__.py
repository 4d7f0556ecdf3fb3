"""Moving in and out: importing other programs' exports, and exporting everything a user has here."""
