"""The screen tour, which answers while no language model is connected. It loads neither Flask nor the database."""
