class UnfitError(ValueError):
    """A value that a setting cannot have. ``why`` is a code of ``messages``; the facts fill its words."""

    def __init__(self, why: str, **facts: object) -> None:
        super().__init__(why)
        self.why = why
        self.facts = facts
