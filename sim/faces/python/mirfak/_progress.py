"""Progress of work that takes a while: a function of the caller's, or a bar of tqdm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Union

#: progress(done, total), called some times a second; True: a bar of tqdm; None or False: nothing.
Progress = Union[Callable[[int, int], object], bool, None]


@contextmanager
def reporting(progress: Progress, what: str) -> Iterator[Callable[[int, int], object] | None]:
    """The function to call with what is done and what there is in all; a bar that was made for it ends behind it."""
    if not isinstance(progress, bool):
        yield progress
        return
    if not progress:
        yield None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError as missing:
        raise ImportError("progress=True needs tqdm: pip install 'mirfak[notebooks]', or give a function") from missing
    with tqdm(desc=what, unit="") as bar:
        yield lambda done, total: _move(bar, done, total)


def _move(bar: Any, done: int, total: int) -> None:
    if bar.total != total:
        bar.total = total
    bar.update(done - bar.n)
