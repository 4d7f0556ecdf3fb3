"""The audit: who or which program read or changed what about whom, for that person to see."""
