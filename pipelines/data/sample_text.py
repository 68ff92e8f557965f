"""The embedded sample of the language models: the help texts of Python itself."""

import sys


def sample_text() -> str:
    """Returns the help texts that `help()` shows, in the alphabetical order of their topics."""
    from pydoc_data import topics

    return "\n\n".join(text.strip() for _, text in sorted(topics.topics.items())) + "\n"


def version() -> str:
    """Returns a text that differs between samples: each version of Python has its own help texts."""
    python = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    return f"pydoc_data.topics, {len(sample_text()):,} characters, {python}"
