"""Other programs sign a person in and get a token for the memory server: OAuth 2.1, with the person's consent."""
