"""How long something takes on a device: in bursts with pauses between them, and for long without any."""

import statistics
import time

import torch

# The host fills the queue while the GPU is busy with this many cycles, so that no launch is seen.
HEAD_START_CYCLES = 10_000_000
# What one timed burst takes at least, and the calls it has at most.
BURST_MS = 6.0
MOST_CALLS = 16
BURSTS = 7
# A long stretch: how long the card is left to settle, at its power limit where that is reached, and how long
# it is timed then. Calls are counted by their time in bursts; these are a fifth more than is wanted, for calls
# that are faster in a row.
SETTLE_MS = {"cuda": 180.0, "cpu": 2.0}
TIMED_MS = {"cuda": 120.0, "cpu": 4.0}


def calls_within(ms, call_ms):
    return int(ms / max(call_ms, 1e-3)) + 1


def row_ms(call, calls, device):
    """Returns what one of `calls` in a row takes, from when the device has done what it has to do already."""
    if device == "cpu":
        began = time.perf_counter()
        for _ in range(calls):
            call()
        return (time.perf_counter() - began) * 1e3 / calls
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(calls):
        call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / calls


def head_started_ms(call, calls, device):
    """Returns the same for a device that has nothing else to do, without the host's time to launch calls."""
    if device == "cuda":
        torch.cuda._sleep(HEAD_START_CYCLES)
    return row_ms(call, calls, device)


def burst_ms(call, device):
    """Returns the median over bursts of calls, after some that warm up. The card rests between them."""
    call()
    once = head_started_ms(call, 2, device)
    calls = max(2, min(MOST_CALLS, int(BURST_MS / max(once, 1e-3))))
    return statistics.median(head_started_ms(call, calls, device) for _ in range(BURSTS))


def long_ms(call, once_ms, device):
    """Returns the mean over a long stretch of calls, of which one takes about `once_ms`.

    The host has to launch them faster than that.
    """
    # Nobody waits for these: what is timed follows without a pause.
    for _ in range(calls_within(SETTLE_MS[device], once_ms)):
        call()
    return row_ms(call, calls_within(TIMED_MS[device], once_ms), device)
