"""Measures what bounds a training step from below: each product, attention, and a copy at their best.

    python3 light.py QUESTIONS.json

QUESTIONS.json is what gpu_training writes: sizes of linear layers and of attention. Every product is tried
with cuBLAS and cuBLASLt and with weights in either layout, on the same operands again and again, so what fits
into the cache stays there. Answers are one line of JSON on stdout.
"""

import json
import sys

import torch
import torch.nn.functional as F
from attention import ranked_choices
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


def best_way(ways, device):
    """Returns the fastest way with either library."""
    best = None
    for library in ["cublas", "cublaslt"] if device == "cuda" else ["default"]:
        torch.backends.cuda.preferred_blas_library(library)
        for way, call in ways.items():
            ms = best_ms(call, device)
            if best is None or ms < best["ms"]:
                best = {"ms": ms, "library": library, "way": way}
    return best


def measure_linear(question, tokens, dtype, device):
    def make(*shape):
        return torch.randn(shape, dtype=dtype, device=device)

    inputs, outputs = question["inputs"], question["outputs"]
    answers = []
    for name, ways in passes(tokens, inputs, outputs, make).items():
        best = best_way(ways, device)
        best["tflops"] = 2e-9 * tokens * inputs * outputs / best["ms"]
        answers.append({"pass": name, **best})
    return {"name": question["name"], "inputs": inputs, "outputs": outputs, "passes": answers}


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
    linears = [measure_linear(each, questions["tokens"], dtype, device) for each in questions["linears"]]
    torch.backends.cuda.preferred_blas_library("default")
    choices, refused = ranked_choices(questions["attention"], dtype, device)
    answers = {
        "linears": linears,
        "attention": {
            "ms": choices[0].ms,
            "kernel": choices[0].kernel,
            "all": {f"{each.kernel}{' repeated' if each.repeats else ''}": each.ms for each in choices},
            "refused": refused,
        },
        "copy_bytes_per_second": measure_copy(device),
    }
    print(json.dumps(answers), flush=True)


if __name__ == "__main__":
    main()
