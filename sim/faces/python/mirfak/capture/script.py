"""A training script run as one rank: what it finds in its environment, and how it ends."""

from __future__ import annotations

import json
import os
import pathlib
import sys
import traceback
from typing import Any, NoReturn

from ..errors import Error, InputError
from .confinement import Confinement
from .devices import Device
from .environment import Environment, Place, recorded
from .exchange import Exchange
from .launchers import run_command

# Libraries that would ask other hosts for files, or tell them of the run.
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "WANDB_MODE": "disabled",
    "TOKENIZERS_PARALLELISM": "false",
}

EARLIER = "--step asks for an earlier one, from 0"
NO_STEP = "ranks that a script starts itself are captured where torch.multiprocessing.spawn starts them"


def run_rank(
    command: list[str],
    place: Place,
    device: Device,
    step: int,
    exchange: Exchange,
    expandable: bool,
    folder: pathlib.Path,
) -> NoReturn:
    """Runs `command` (a script, or -m and a module, with arguments) in this process until the step is done.

    Writes `folder`/RANK.json, with the key "error" where the script failed, and ends the process.
    """
    answer = folder / f"{place.rank}.json"

    def leave(result: dict[str, Any]) -> NoReturn:
        unfinished = answer.with_suffix(".part")
        unfinished.write_text(json.dumps(result))
        unfinished.rename(answer)
        exchange.end()
        sys.stdout.flush()
        sys.stderr.flush()
        if exchange.turns is not None:
            exchange.turns.give()
        os._exit(0)

    if exchange.turns is not None:
        exchange.turns.take()
    del os.environ["CUDA_VISIBLE_DEVICES"]
    os.environ.update(place.variables | OFFLINE)
    environment = Environment(place, device, step, exchange, expandable, lambda: leave(recorded(environment)))
    try:
        Confinement(folder / "written" / str(place.rank), folder).install(int(place.variables["MASTER_PORT"]))
        with environment:
            run_command(command)
        said = f"{name_of(command)} ended after {environment.steps.finished} steps of its optimizer"
        raise InputError(f"{said}, before the end of step {step}", hint=EARLIER if environment.steps.finished else NO_STEP)
    except SystemExit as error:
        leave(
            {
                "error": f"{name_of(command)} left with status {error.code} before step {step} was done",
                "place": place_of(error),
                "left": True,
            }
        )
    except KeyboardInterrupt:
        os._exit(130)
    except BaseException as error:
        said = str(error) if isinstance(error, Error) else f"{type(error).__name__}: {error}"
        traceback.print_exc()
        leave({"error": said, "place": place_of(error)})


def name_of(command: list[str]) -> str:
    """The script or module of a command."""
    return command[1] if command[0] == "-m" else command[0]


def place_of(error: BaseException) -> str:
    """FILE:LINE of the innermost frame of the user's own code."""
    package = str(pathlib.Path(__file__).parent)
    found = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        name = frame.f_code.co_filename
        if name.startswith((package, "<")) or "site-packages" in name or name.startswith(sys.base_prefix):
            continue
        found = f"{name}:{line}"
    return found
