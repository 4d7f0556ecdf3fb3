"""Benchmarks: each compares the product with what it is built on in one run, and prints ratios beside numbers."""
