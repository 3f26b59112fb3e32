"""The stdio server as a relay to a running daemon. Standard library only: it starts at once and weighs nothing."""
