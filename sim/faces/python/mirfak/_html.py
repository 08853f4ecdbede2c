"""Results as notebooks show them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._mirfak import Result
    from ._results import FoundStrategies

_SHARES = frozenset({"mfu", "hfu", "bubble_fraction", "memory_headroom", "fit_probability"})
_STEPS = {"s": (1e3, ("us", "ms", "s")), "bytes": (1024.0, ("KiB", "MiB", "GiB")), "j": (1e3, ("J", "kJ", "MJ", "GJ"))}
_FIRST = {"s": 1e-6, "bytes": 1024.0, "j": 1.0}
_FIGURES = ("iteration_time_s", "tokens_per_s", "mfu", "bubble_fraction", "memory_peak_bytes", "memory_headroom",
            "energy_j", "cost_usd_per_iteration", "gpus")  # fmt: skip
_MOST_ROWS = 10


def shown(key: str, value: Any) -> str:
    """A figure with three digits and its unit, which the end of its key says."""
    if value is None or value != value:
        return "not known"
    if isinstance(value, (bool, str)):
        return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else value
    if key in _SHARES:
        return f"{100 * value:.1f} %"
    if key.endswith("usd_per_iteration"):
        return f"${value:.3g}"
    unit = key.rsplit("_", 1)[-1]
    if key.endswith("_per_s") or unit not in _STEPS:
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    step, names = _STEPS[unit]
    value /= _FIRST[unit]
    place = 0
    while abs(value) >= step and place + 1 < len(names):
        value /= step
        place += 1
    return f"{value:,.0f} {names[place]}" if abs(value) >= 1000 else f"{value:.3g} {names[place]}"


def _title(key: str) -> str:
    if key.upper() in ("MFU", "HFU"):
        return key.upper()
    if key.endswith("_per_s"):
        return key.removesuffix("_per_s").replace("_", " ") + " per second"
    words = key.removesuffix("_usd_per_iteration").removesuffix("_fraction")
    return (words.rsplit("_", 1)[0] if words.rsplit("_", 1)[-1] in _STEPS else words).replace("_", " ")


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    """An HTML table of texts."""
    head = "".join(f"<th scope='col'>{escape(text)}</th>" for text in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in rows)
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _folded(summary: str) -> str:
    return f"<details><summary>all of it</summary><pre>{escape(summary)}</pre></details>"


def result_html(result: Result) -> str:
    """Result._repr_html_(): what matters first, and the summary folded up."""
    rows = [[_title(key), shown(key, getattr(result, key))] for key in _FIGURES]
    if not result.fits:
        rows.insert(0, ["fits in memory", "no"])
    return table(("figure", "value"), rows, f"One iteration of {result.name}") + _folded(result.summary())


def strategies_html(found: FoundStrategies) -> str:
    """FoundStrategies._repr_html_(): the best strategies, best first."""
    rows = []
    for place, strategy in enumerate(found.strategies[:_MOST_ROWS]):
        rows.append([str(place), strategy_words(strategy["strategy"]), *(shown(key, strategy[key]) for key in _FIGURES)])
    left = f", {_MOST_ROWS} of {len(found)}" if len(found) > _MOST_ROWS else ""
    return table(("place", "strategy", *map(_title, _FIGURES)), rows, f"Strategies, best first{left}") + _folded(found.summary())


def strategy_words(strategy: dict[str, Any]) -> str:
    """The sizes of a strategy: "tensor 4, pipeline 2, data 8, micro_batch 1"."""
    sizes = ("tensor", "context", "expert", "pipeline", "virtual_pipeline", "data", "micro_batch", "zero")
    kept = [f"{key} {strategy[key]}" for key in sizes if strategy.get(key) not in (None, 0) and (strategy[key] != 1 or key == "micro_batch")]
    recompute = strategy.get("recompute")
    return ", ".join([*kept, *([f"recompute {recompute}"] if recompute not in (None, "none") else [])])
