"""Tasks with blockers: records, loaders, generators, checks."""
