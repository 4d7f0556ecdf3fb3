"""The context of a reply: what the model is shown, read from the tables and fitted into its window."""
