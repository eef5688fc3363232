"""Calls that the GPU repeats from a recording, so that it never waits for the host."""

import functools

import torch
from timing import long_ms

# What a recording takes about, so that few launches are enough, and the calls it has at most.
RECORDED_MS = 2.0
MOST_CALLS = 100


@functools.cache
def side_stream():
    """One for all recordings, since libraries keep a workspace for every stream that they have seen."""
    return torch.cuda.Stream()


def recorded(step):
    """Returns a function that repeats on the GPU what `step` does there, in one launch."""
    stream = side_stream()
    stream.wait_stream(torch.cuda.current_stream())
    # Workspaces and plans of libraries are made on a first call, and no recording may contain that.
    with torch.cuda.stream(stream):
        step()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        step()
    return graph.replay


def long_recorded_ms(call, once_ms, device):
    """Returns the mean over a long stretch of calls that the host may be too slow to launch one by one.

    A product of one short text takes less time than its launch from Python.
    """
    if device == "cpu":
        return long_ms(call, once_ms, device)
    calls = max(1, min(MOST_CALLS, int(RECORDED_MS / max(once_ms, 1e-3))))

    def several():
        for _ in range(calls):
            call()

    return long_ms(recorded(several), calls * once_ms, device) / calls
