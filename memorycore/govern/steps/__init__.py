"""The steps of maintenance: which there are, how often they run, and what each one does."""
