"""Pages and endpoints of memory."""
