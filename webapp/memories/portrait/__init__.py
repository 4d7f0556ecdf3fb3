"""What is known of a person, in prose: each sentence rests on memories that can be looked up."""
