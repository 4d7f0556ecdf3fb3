"""What tests and benchmarks share: private servers, people, work, and rows to fill tables with."""
