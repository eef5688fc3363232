"""Measures what bounds a training step from below: each product, attention, and a copy at their best.

    python3 light.py QUESTIONS.json

QUESTIONS.json is what gpu_training writes: sizes of linear layers and of attention. Every product is tried
with cuBLAS and cuBLASLt and with weights in either layout, on the same operands again and again, so what fits
into the cache stays there. First in bursts, which a card that rests in between runs at clocks that it does not
hold; then the fastest ways in bursts run for long without a pause, and the fastest of them there counts. A
copy is measured in both ways, too. At last all products and attention run for seconds in the order of a step,
each in its best way (replay.py). Answers are one line of JSON on stdout.
"""

import json
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from attention import AttentionLayer, fastest_for_long, ranked_choices
from recording import long_recorded_ms
from replay import order_of_step, replay, step_of
from timing import SETTLE_MS, TIMED_MS, burst_ms, long_ms

# So many of the fastest ways in bursts are measured for long.
FINALISTS = 2
COPY_BYTES = {"cuda": 1 << 30, "cpu": 1 << 24}
DTYPES = {
    "fp32": torch.float32,
    "tf32": torch.float32,
    "bf16_master": torch.bfloat16,
    "bf16": torch.bfloat16,
}


def passes(tokens, inputs, outputs, make):
    """Returns the ways to compute each product of a linear layer: {pass: {way: call}}."""
    x, y = make(tokens, inputs), make(tokens, outputs)
    rows = make(outputs, inputs)
    columns = make(inputs, outputs)
    bias = make(outputs)
    return {
        "forward": {
            "[out, in]": lambda: F.linear(x, rows),
            "[in, out]": lambda: torch.mm(x, columns),
            "[out, in] and bias": lambda: F.linear(x, rows, bias),
            "[in, out] and bias": lambda: torch.addmm(bias, x, columns),
        },
        "input gradient": {
            "[out, in]": lambda: torch.mm(y, rows),
            "[in, out]": lambda: torch.mm(y, columns.t()),
        },
        "weight gradient": {
            "[out, in]": lambda: torch.mm(y.t(), x),
            "[in, out]": lambda: torch.mm(x.t(), y),
        },
    }


@dataclass
class Product:
    """A way to compute a product, with what that takes in a burst and, where measured, in a long stretch."""

    way: str
    library: str
    call: Callable[[], torch.Tensor]
    burst_ms: float
    ms: float | None = None

    def run(self):
        # Read when a product is launched, so a recording keeps it.
        torch.backends.cuda.preferred_blas_library(self.library)
        self.call()


@dataclass
class Linear:
    """A linear layer that a step has `calls` times."""

    name: str
    inputs: int
    outputs: int
    calls: int
    # By pass: the fastest ways in bursts, the fastest first.
    finalists: dict[str, list[Product]]
    # By pass: which of those is the fastest in a long stretch.
    products: dict[str, Product] = field(default_factory=dict)

    def measure_for_long(self, device):
        for name, ways in self.finalists.items():
            for way in ways:
                way.ms = long_recorded_ms(way.run, way.burst_ms, device)
            self.products[name] = min(ways, key=lambda way: way.ms)

    def forward(self):
        self.products["forward"].run()

    def backward(self):
        self.products["input gradient"].run()
        self.products["weight gradient"].run()

    def ms(self):
        return self.calls * sum(product.ms for product in self.products.values())

    def burst_ms(self):
        return self.calls * sum(ways[0].burst_ms for ways in self.finalists.values())

    def answer(self, tokens):
        flops = 2 * tokens * self.inputs * self.outputs
        answers = [
            {
                "pass": name,
                "ms": product.ms,
                # Of whichever way is the fastest in bursts.
                "burst_ms": self.finalists[name][0].burst_ms,
                "library": product.library,
                "way": product.way,
                "tflops": 1e-9 * flops / product.ms,
            }
            for name, product in self.products.items()
        ]
        return {"name": self.name, "inputs": self.inputs, "outputs": self.outputs, "passes": answers}


def fastest_in_bursts(ways, device):
    """Returns the fastest ways with either library, the fastest first."""
    products = []
    for library in ["cublas", "cublaslt"] if device == "cuda" else ["default"]:
        torch.backends.cuda.preferred_blas_library(library)
        products += [Product(way, library, call, burst_ms(call, device)) for way, call in ways.items()]
    return sorted(products, key=lambda product: product.burst_ms)[:FINALISTS]


def measure_linear(question, tokens, dtype, device):
    """Returns the layer with its fastest products in bursts, which keep what operands they need."""

    def make(*shape):
        return torch.randn(shape, dtype=dtype, device=device)

    ways = passes(tokens, question["inputs"], question["outputs"], make)
    finalists = {name: fastest_in_bursts(each, device) for name, each in ways.items()}
    return Linear(**question, finalists=finalists)


def attention_answer(choices, best, refused):
    """Returns what attention takes; `all` has no `ms` of kernels that were measured in bursts only."""
    times = {}
    for each in choices:
        times[each.name()] = {"burst_ms": each.burst_ms}
        if each.ms is not None:
            times[each.name()]["ms"] = each.ms
    return {
        "ms": best.ms,
        "burst_ms": choices[0].burst_ms,
        "kernel": best.name(),
        "all": times,
        "refused": refused,
    }


def measure_sustained(linears, layer, fastest_burst_ms, questions):
    """Returns what a step's products and attention take in a row, or why they could not run so."""
    device, layers = questions["device"], questions["attention"]["calls"]
    step = step_of(order_of_step(linears, layer, layers))
    try:
        with layer.choice.alone():
            ms, seconds = replay(step, device)
    except RuntimeError:
        # All of it: a recording that fails ends with an error that does not say why.
        return {"failed": traceback.format_exc()}
    return {
        "products_and_attention_ms": ms,
        # What each by itself adds up to.
        "long_ms": sum(linear.ms() for linear in linears) + layers * layer.choice.ms,
        "burst_ms": sum(linear.burst_ms() for linear in linears) + layers * fastest_burst_ms,
        "seconds": seconds,
    }


def copy_on(device):
    """Returns a function that copies COPY_BYTES."""
    source = torch.ones(COPY_BYTES[device], dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


def copy_rate(ms, device):
    """Returns the bytes that a copy reads and writes in a second."""
    return 2e3 * COPY_BYTES[device] / ms


def measure(questions, dtype):
    device, tokens = questions["device"], questions["tokens"]
    # All bursts before the first long stretch, which leaves the card hot.
    linears = [measure_linear(each, tokens, dtype, device) for each in questions["linears"]]
    torch.backends.cuda.preferred_blas_library("default")
    choices, refused = ranked_choices(questions["attention"], dtype, device)
    copy = copy_on(device)
    copy_burst_ms = burst_ms(copy, device)

    for linear in linears:
        linear.measure_for_long(device)
    torch.backends.cuda.preferred_blas_library("default")
    best = fastest_for_long(choices[:FINALISTS], questions["attention"], dtype, device)
    # Not recorded: the host is fast enough for it.
    copy_ms = long_ms(copy, copy_burst_ms, device)

    layer = AttentionLayer(best, questions["attention"], dtype, device)
    return {
        "stretch": {"finalists": FINALISTS, "settle_ms": SETTLE_MS[device], "timed_ms": TIMED_MS[device]},
        "linears": [linear.answer(tokens) for linear in linears],
        "attention": attention_answer(choices, best, refused),
        "copy_bytes_per_second": copy_rate(copy_ms, device),
        "burst_copy_bytes_per_second": copy_rate(copy_burst_ms, device),
        "sustained": measure_sustained(linears, layer, choices[0].burst_ms, questions),
    }


def main():
    with open(sys.argv[1]) as file:
        questions = json.load(file)
    torch.backends.cuda.matmul.allow_tf32 = questions["arithmetic"] == "tf32"
    answers = measure(questions, DTYPES[questions["arithmetic"]])
    print(json.dumps(answers), flush=True)


if __name__ == "__main__":
    main()
