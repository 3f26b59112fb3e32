"""The cold tier: the contract that a cold store keeps, and who keeps it."""
