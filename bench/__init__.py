"""Benchmarks: each compares the product with what it stands on in one run, and prints ratios beside numbers."""
