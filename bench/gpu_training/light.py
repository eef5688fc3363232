"""Measures what bounds a training step from below: each product, attention, and a copy at their best.

    python3 light.py QUESTIONS.json

QUESTIONS.json is what gpu_training writes: sizes of linear layers and of attention. Every product is tried
with cuBLAS and cuBLASLt and with weights in either layout, on the same operands again and again, so what fits
into the cache stays there. Those are bursts; then all products and attention run for seconds in the order of a
step, each in its best way (replay.py). Answers are one line of JSON on stdout.
"""

import json
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from attention import AttentionLayer, ranked_choices
from replay import order_of_step, replay, step_of
from timing import best_ms

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
    """A product in the way that is the fastest, with what that takes in a burst."""

    way: str
    library: str
    call: Callable[[], torch.Tensor]
    ms: float

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
    # By pass.
    products: dict[str, Product]

    def forward(self):
        self.products["forward"].run()

    def backward(self):
        self.products["input gradient"].run()
        self.products["weight gradient"].run()

    def ms(self):
        return self.calls * sum(product.ms for product in self.products.values())

    def answer(self, tokens):
        flops = 2 * tokens * self.inputs * self.outputs
        answers = [
            {
                "pass": name,
                "ms": product.ms,
                "library": product.library,
                "way": product.way,
                "tflops": 1e-9 * flops / product.ms,
            }
            for name, product in self.products.items()
        ]
        return {"name": self.name, "inputs": self.inputs, "outputs": self.outputs, "passes": answers}


def best_way(ways, device):
    """Returns the fastest way with either library."""
    best = None
    for library in ["cublas", "cublaslt"] if device == "cuda" else ["default"]:
        torch.backends.cuda.preferred_blas_library(library)
        for way, call in ways.items():
            ms = best_ms(call, device)
            if best is None or ms < best.ms:
                best = Product(way, library, call, ms)
    return best


def measure_linear(question, tokens, dtype, device):
    """Returns the layer with its best products, which keep what operands they need."""

    def make(*shape):
        return torch.randn(shape, dtype=dtype, device=device)

    ways = passes(tokens, question["inputs"], question["outputs"], make)
    return Linear(**question, products={name: best_way(each, device) for name, each in ways.items()})


def measure_sustained(linears, layer, questions):
    """Returns what a step's products and attention take in a row, or why they could not run so."""
    device, layers = questions["device"], questions["attention"]["calls"]
    step = step_of(order_of_step(linears, layer, layers))
    try:
        with layer.choice.alone():
            ms, seconds = replay(step, device)
    except RuntimeError:
        # All of it: a recording that fails ends with an error that does not say why.
        return {"failed": traceback.format_exc()}
    burst_ms = sum(linear.ms() for linear in linears) + layers * layer.choice.ms
    return {"products_and_attention_ms": ms, "burst_ms": burst_ms, "seconds": seconds}


def measure_copy(device):
    """Returns the bytes that a copy reads and writes in a second."""
    source = torch.ones(COPY_BYTES[device], dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return 2e3 * source.numel() / best_ms(lambda: target.copy_(source), device)


def main():
    with open(sys.argv[1]) as file:
        questions = json.load(file)
    device = questions["device"]
    dtype = DTYPES[questions["arithmetic"]]
    torch.backends.cuda.matmul.allow_tf32 = questions["arithmetic"] == "tf32"
    tokens = questions["tokens"]
    linears = [measure_linear(each, tokens, dtype, device) for each in questions["linears"]]
    torch.backends.cuda.preferred_blas_library("default")
    choices, refused = ranked_choices(questions["attention"], dtype, device)
    layer = AttentionLayer(choices[0], questions["attention"], dtype, device)
    answers = {
        "linears": [linear.answer(tokens) for linear in linears],
        "attention": {
            "ms": choices[0].ms,
            "kernel": choices[0].kernel,
            "all": {f"{each.kernel}{' repeated' if each.repeats else ''}": each.ms for each in choices},
            "refused": refused,
        },
        "copy_bytes_per_second": measure_copy(device),
        # The last, since it leaves the card hot.
        "sustained": measure_sustained(linears, layer, questions),
    }
    print(json.dumps(answers), flush=True)


if __name__ == "__main__":
    main()
