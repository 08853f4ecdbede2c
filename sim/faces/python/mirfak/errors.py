"""Errors that mirfak raises where a user can act on them."""

from __future__ import annotations


class Error(Exception):
    """A failure with its place.

    file: where it stands: a file, "scenario" for one that is not in a file, "override strategy.tensor=4", or None.
    line, column: counted from 1, or None. message: what is wrong and what was expected. hint: what to do, or "".
    str() is all of this, with the line of the file.
    """

    file: str | None
    line: int | None
    column: int | None
    message: str
    hint: str

    def __init__(
        self,
        text: str,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        message: str | None = None,
        hint: str = "",
    ) -> None:
        if message is None:  # made in Python
            message, text = text, f"{text}\n  {hint}" if hint else text
        # All of them are arguments of the base: so that an error that another process raised arrives whole.
        super().__init__(text, file, line, column, message, hint)
        self.file = file
        self.line = line
        self.column = column
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return str(self.args[0])


class InputError(Error):
    """Input that cannot be understood: an unknown key, an impossible value, a file that is not there."""


class MissingFileError(InputError, FileNotFoundError):
    """A file that is not there: an InputError, and a FileNotFoundError for code that expects one."""


class InfeasibleError(Error):
    """Understood, but it cannot run: sizes that do not divide, a rule of the strategy, nothing that fits."""


class InternalError(Error):
    """A defect of mirfak, or of the machine: a full disk, a worker that died."""
