"""Policies that learn to ask: the reward, rollouts through the one episode, and the trainer."""
