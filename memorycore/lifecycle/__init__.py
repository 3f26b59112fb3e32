"""Every transition of a memory, once: each is one change of the row and one line in the ledger."""
