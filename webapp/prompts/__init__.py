"""Named prompts, their versions, and the placeholders in them."""
