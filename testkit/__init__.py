"""Shared parts of tests and benchmarks: private servers, people, work, and rows to fill tables with."""
