"""Metrics: SQL match, Ask-F1, pass@k, intervals."""
