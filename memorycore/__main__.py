"""``python -m memorycore``: the same as the command ``memorycore``."""

from memorycore.cli import main

if __name__ == "__main__":
    main()
