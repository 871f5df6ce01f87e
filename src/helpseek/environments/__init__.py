"""What an agent acts on: commands, the guarded SQLite."""
