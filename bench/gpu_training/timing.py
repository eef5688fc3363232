"""How long something takes on a device, for light.py and pytorch_peer.py."""

import statistics
import time

import torch

# The host fills the queue while the GPU is busy with this many cycles, so that no launch is seen.
HEAD_START_CYCLES = 10_000_000
# What one timed stretch takes at least, and the calls it has at most.
STRETCH_MS = 6.0
MOST_CALLS = 16
STRETCHES = 7


def stretch_ms(call, calls, device):
    """Returns what one of `calls` in a row takes."""
    if device == "cpu":
        began = time.perf_counter()
        for _ in range(calls):
            call()
        return (time.perf_counter() - began) * 1e3 / calls
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(HEAD_START_CYCLES)
    start.record()
    for _ in range(calls):
        call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / calls


def best_ms(call, device):
    """Returns the median over stretches of calls, after some that warm up."""
    call()
    once = stretch_ms(call, 2, device)
    calls = max(2, min(MOST_CALLS, int(STRETCH_MS / max(once, 1e-3))))
    return statistics.median(stretch_ms(call, calls, device) for _ in range(STRETCHES))
