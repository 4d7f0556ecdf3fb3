"""Notifications for browsers in which no page is open (Web Push, RFC 8030); they never tell what was said."""
