"""Predicts how long a distributed training takes, what it costs, and what memory and energy it needs.

    import mirfak
    result = mirfak.simulate("scenarios/llama2-70b-h100.yaml", overrides={"strategy.tensor": 4})
    result.iteration_time_s, result.stages, result.timeline.start_ps

Scenarios are dictionaries, paths of YAML or JSON files, or their text. Quantities are SI, with the unit at the end of
their name. Work lets the GIL go, Ctrl-C ends it, and what is wrong with the input is raised with its place
(InputError, InfeasibleError).

Without the extension `mirfak._mirfak`, as in the sources before a build, only mirfak.capture and mirfak.errors are
there: a capture is made where PyTorch is, and need not be simulated on the same machine.
"""

from __future__ import annotations

from importlib.util import find_spec as _find_spec

from . import capture as capture

if _find_spec(__name__ + "._mirfak") is not None:
    from ._functions import *  # noqa: F403
    from ._functions import __all__, __version__
else:
    from .errors import Error, InfeasibleError, InputError, InternalError

    __all__ = ["Error", "InfeasibleError", "InputError", "InternalError"]

    def __getattr__(name: str) -> object:
        raise AttributeError(f"mirfak.{name} needs the extension mirfak._mirfak, which is not built here")
