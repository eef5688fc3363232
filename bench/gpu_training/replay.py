"""What the products and attention of a step take in a row, for seconds instead of in bursts.

A burst of one product is over before the card is warm and finds its operands in the cache. Training holds the
card at its power limit, where the very same kernels run at lower clocks.
"""

import torch
from timing import stretch_ms

WARM_UP_SECONDS = {"cuda": 1.0, "cpu": 0.01}
MEASURED_SECONDS = {"cuda": 2.0, "cpu": 0.05}


def order_of_step(linears, attention, layers):
    """Returns the parts of a step in the order of its forward pass; its backward pass has the reverse.

    What a step has once per layer is in the layers, attention after the first of them (q, k and v); what is
    there another number of times, such as the head, comes after the layers.
    """
    first, *others = [linear for linear in linears if linear.calls == layers]
    after = [linear for linear in linears if linear.calls != layers for _ in range(linear.calls)]
    return [first, attention, *others] * layers + after


def step_of(parts):
    """Returns a function that runs all parts forward, then all of them backward.

    Attention is split, too: its backward passes are among the other gradients, as in training.
    """

    def step():
        for part in parts:
            part.forward()
        for part in reversed(parts):
            part.backward()

    return step


def recorded(step):
    """Returns a function that repeats on the GPU what `step` does there, in one launch."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    # Workspaces and plans of libraries are made on a first call, and no recording may contain that.
    with torch.cuda.stream(stream):
        step()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        step()
    return graph.replay


def calls_within(seconds, call_ms):
    return int(1e3 * seconds / call_ms) + 1


def replay(step, device):
    """Returns the mean milliseconds of a step, and how many seconds of steps that is the mean of."""
    call = recorded(step) if device == "cuda" else step
    call()
    once = stretch_ms(call, 2, device)
    # Nobody waits for these: the card has but the few ms of the head start to cool before it is measured.
    for _ in range(calls_within(WARM_UP_SECONDS[device], once)):
        call()
    calls = calls_within(MEASURED_SECONDS[device], once)
    mean = stretch_ms(call, calls, device)
    return mean, calls * mean / 1e3
