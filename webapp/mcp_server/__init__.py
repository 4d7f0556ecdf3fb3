"""Memory for other programs: a server of the Model Context Protocol, without sessions."""
