"""A person's portrait in prose: each sentence rests on memories that can be looked up."""
