"""The human oracle behind `ask_human`: judges, answer policy, validation."""
