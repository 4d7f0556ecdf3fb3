"""The audit: which person or program read or changed what about whom, for that person to see."""
