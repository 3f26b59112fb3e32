"""The one process per data directory that tends the memory and serves many clients: who leads, what runs when."""
