"""One run of one task, and many of them."""
