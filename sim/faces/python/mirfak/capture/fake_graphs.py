"""CUDA graphs without a GPU: what is launched while one is captured is done again by each replay."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .fake_cuda import FakeCuda


def graph_answers(cuda: FakeCuda) -> dict[str, Any]:
    """Stand-ins of torch.cuda for graphs, which tell the recorder of `cuda`."""
    recorder, memory = cuda.recorder, cuda.memory
    pools: list[tuple[int, int]] = []

    def new_pool() -> tuple[int, int]:
        pools.append((0, len(pools) + 1))
        return pools[-1]

    class Graph:
        """torch.cuda.CUDAGraph."""

        def __init__(self, keep_graph: bool = False) -> None:
            self._tape: list[list[Any]] = []
            self._pool: tuple[int, int] | None = None
            self._stream = 0

        def capture_begin(self, pool: Any = None, capture_error_mode: str = "global", **keywords: Any) -> None:
            self._pool = getattr(pool, "id", pool) or new_pool()
            self._stream = cuda.stream().number
            memory.pool = self._pool[1]
            recorder.begin_graph()

        def capture_end(self) -> None:
            self._tape = recorder.end_graph()
            memory.pool = None

        def replay(self) -> None:
            recorder.replay(self._tape, self._stream, cuda.stream().number)

        def pool(self) -> Any:
            return self._pool

        def reset(self) -> None:
            self._tape = []

        def nothing(self, *arguments: Any, **keywords: Any) -> None:
            pass

        instantiate = register_generator_state = enable_debug_mode = debug_dump = nothing

    class Capture:
        """torch.cuda.graph: captures what is launched within its block."""

        def __init__(self, cuda_graph: Any, pool: Any = None, stream: Any = None, **keywords: Any) -> None:
            self._graph, self._pool = cuda_graph, pool
            self._stream = cuda.on_stream(stream if stream is not None else cuda.Stream())

        def __enter__(self) -> None:
            cuda.synchronize()
            gc.collect()
            memory.allocator.empty_cache()
            self._stream.__enter__()
            self._graph.capture_begin(self._pool)

        def __exit__(self, *raised: Any) -> None:
            self._graph.capture_end()
            self._stream.__exit__(*raised)

    return {
        "CUDAGraph": Graph,
        "graph": Capture,
        "graph_pool_handle": new_pool,
        "is_current_stream_capturing": lambda: memory.pool is not None,
    }
