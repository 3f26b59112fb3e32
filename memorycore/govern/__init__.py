"""What keeps memory in order by itself. Each step plans, then acts."""
