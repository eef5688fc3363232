"""What the products and attention of a step take in a row, for seconds instead of each by itself.

A long stretch of one product finds its operands in the cache, where they fit, and the card at the clocks that
this product leaves it. In a step other products come in between, and the hungriest of them slow the others.
"""

from recording import recorded
from timing import calls_within, head_started_ms, row_ms

WARM_UP_MS = {"cuda": 1000.0, "cpu": 10.0}
MEASURED_MS = {"cuda": 2000.0, "cpu": 50.0}


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


def replay(step, device):
    """Returns the mean milliseconds of a step, and how many seconds of steps that is the mean of."""
    call = recorded(step) if device == "cuda" else step
    call()
    once = head_started_ms(call, 2, device)
    # Nobody waits for these, so the card does not rest before it is measured.
    for _ in range(calls_within(WARM_UP_MS[device], once)):
        call()
    calls = calls_within(MEASURED_MS[device], once)
    mean = row_ms(call, calls, device)
    return mean, calls * mean / 1e3
