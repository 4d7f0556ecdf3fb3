"""Spaces: projects and legacies with their members, invitations and documents."""
