"""Files that trainings are started with, as scenarios."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _frames, _mirfak
from ._inputs import DataFolder, data_folder, one_or_more, paths_of
from ._results import Record

if TYPE_CHECKING:
    import pandas


class ImportResult(Record):
    """Files of a training program, read; keys as of `mirfak import --format json`, the lines among them a frame.

    `scenario` is a dictionary for simulate() and the others; `complete` says whether the cluster is known and mirfak
    describes all of it, `obstacles` what is missing, `refusal` why it cannot run, or None.
    """

    def __init__(self, found: _mirfak.ImportedFiles) -> None:
        super().__init__(found.to_dict())
        self._found = found

    @property
    def lines(self) -> pandas.DataFrame:
        """A row for everything that was said: taken, without effect, unknown, assumed, with its place and the keys."""
        return _frames.frame_of(self._values["lines"])

    def yaml(self) -> str:
        """The scenario, each key with a comment that says where it comes from."""
        return self._found.yaml()

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes that to a file."""
        self._found.write(path)

    def summary(self) -> str:
        """Returns the text that `mirfak import` prints."""
        return self._found.summary()


def import_files(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    nodes: str | Iterable[str] = (),
    environment: Mapping[str, Any] | None = None,
    parameters: Iterable[Any] = (),
    launch: int = 0,
    run: int = 0,
    format: str = "",  # noqa: A002 (as the program calls what it is)
    cluster: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    data: DataFolder = None,
) -> ImportResult:
    """Reads the files that a training is started with, as a scenario: a launch script, arguments, a configuration file.

    files: the one that it is started with, then those that it refers to. Nothing is executed.
    nodes: what it runs on, "hgx-h100:64", one or several. environment: variables that files use. parameters: a script's
    $1, $2, ... launch: of a script that starts several programs, which, from 1; 0: the first training. run: of a log
    of several runs, which, from 1; 0: the log has one. format: what kind of file it is, where that does not show.
    cluster: files that say what the cluster is made of: output of sinfo, scontrol show node or nvidia-smi topo -m, or a
    SkyPilot task. data: as of simulate().
    """
    variables = [f"{name}={value}" for name, value in (environment or {}).items()]
    words = [str(word) for word in parameters]
    return ImportResult(
        _mirfak.import_files(
            paths_of(files), one_or_more(nodes), variables, words, launch, run, format, paths_of(cluster), data_folder(data)
        )
    )
