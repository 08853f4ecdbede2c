"""Results as notebooks show them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from . import _mirfak

if TYPE_CHECKING:
    from ._mirfak import Result
    from ._results import FoundStrategies

_FIGURES = ("iteration_time_s", "tokens_per_s", "mfu", "bubble_fraction", "memory_peak_bytes", "memory_headroom",
            "energy_j", "cost_usd_per_iteration", "gpus")  # fmt: skip
_MOST_ROWS = 10


def shown(key: str, value: Any) -> str:
    """A figure with three digits and its unit, as all texts have it."""
    return "not known" if value is None else _mirfak.figure_text(key, value)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    """An HTML table of texts."""
    head = "".join(f"<th scope='col'>{escape(text)}</th>" for text in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in rows)
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _folded(summary: str) -> str:
    return f"<details><summary>all of it</summary><pre>{escape(summary)}</pre></details>"


def result_html(result: Result) -> str:
    """Result._repr_html_(): what matters first, and the summary folded up."""
    rows = [[_mirfak.figure_label(key), shown(key, getattr(result, key))] for key in _FIGURES]
    if not result.fits:
        rows.insert(0, ["fits in memory", "no"])
    return table(("figure", "value"), rows, f"One iteration of {result.name}") + _folded(result.summary())


def strategies_html(found: FoundStrategies) -> str:
    """FoundStrategies._repr_html_(): the best strategies, best first."""
    rows = []
    for place, strategy in enumerate(found.strategies[:_MOST_ROWS]):
        rows.append([str(place), strategy_words(strategy["strategy"]), *(shown(key, strategy[key]) for key in _FIGURES)])
    left = f", {_MOST_ROWS} of {len(found)}" if len(found) > _MOST_ROWS else ""
    return table(("place", "strategy", *map(_mirfak.figure_label, _FIGURES)), rows, f"Strategies, best first{left}") + _folded(found.summary())


def strategy_words(strategy: dict[str, Any]) -> str:
    """The sizes of a strategy: "tensor 4, pipeline 2, data 8, micro_batch 1"."""
    sizes = ("tensor", "context", "expert", "pipeline", "virtual_pipeline", "data", "micro_batch", "zero")
    kept = [f"{key} {strategy[key]}" for key in sizes if strategy.get(key) not in (None, 0) and (strategy[key] != 1 or key == "micro_batch")]
    recompute = strategy.get("recompute")
    return ", ".join([*kept, *([f"recompute {recompute}"] if recompute not in (None, "none") else [])])
