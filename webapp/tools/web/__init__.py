"""Search on the web and reading of pages, through what an admin has set up."""
