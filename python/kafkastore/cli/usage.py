"""A command line that cannot be understood. Imports nothing: a broker starts through here."""


class UsageError(Exception):
    """The command line cannot be understood: one sentence, for which ``main.py`` exits with 2."""
