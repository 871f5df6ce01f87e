"""Model backends behind mini-swe-agent's Model protocol."""
