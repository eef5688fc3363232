"""The attention kernels that PyTorch has, and which of them is the fastest for given sizes."""

from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from recording import long_recorded_ms
from timing import burst_ms
from torch.nn.attention import SDPBackend, sdpa_kernel

KERNELS = {
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "math": SDPBackend.MATH,
}
# Whichever of them PyTorch takes by itself.
DEFAULT = "default"


@dataclass
class Choice:
    kernel: str
    # Whether keys and values are repeated for each query head that uses them.
    repeats: bool
    burst_ms: float = 0.0
    # In a long stretch; None where that was not measured.
    ms: float | None = None

    def name(self):
        return self.kernel + (" repeated" if self.repeats else "")

    def attend(self, q, k, v):
        if q.shape[1] == k.shape[1]:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        if not self.repeats:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        times = q.shape[1] // k.shape[1]
        k, v = (part.repeat_interleave(times, 1) for part in (k, v))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    @contextmanager
    def alone(self):
        """Any other kernel is an error meanwhile, never a silent change."""
        with nullcontext() if self.kernel == DEFAULT else sdpa_kernel([KERNELS[self.kernel]]):
            yield


class AttentionLayer:
    """Attention with operands of its own, strides as models have them."""

    def __init__(self, choice, sizes, dtype, device):
        def heads(count):
            shape = (sizes["batch"], sizes["length"], count, sizes["head_size"])
            values = torch.randn(shape, dtype=dtype, device=device)
            return values.transpose(1, 2).requires_grad_()

        self.choice = choice
        self.inputs = [heads(sizes[count]) for count in ("heads", "kv_heads", "kv_heads")]
        self.gradient = heads(sizes["heads"]).detach()
        # Of the forward passes that have had no backward pass yet.
        self.outputs = []

    def forward(self):
        self.outputs.append(self.choice.attend(*self.inputs))

    def backward(self):
        torch.autograd.grad(self.outputs.pop(), self.inputs, self.gradient)


def passes_of(choice, sizes, dtype, device):
    """Returns a function that runs a layer forward and backward."""
    layer = AttentionLayer(choice, sizes, dtype, device)

    def call():
        layer.forward()
        layer.backward()

    return call


def ranked_choices(sizes, dtype, device):
    """Returns the kernels that take these sizes, the fastest in bursts first, and why the others do not."""
    usable, refused = [], {}
    grouped = sizes["heads"] != sizes["kv_heads"]
    names = ["cudnn", "flash", "efficient"] if device == "cuda" else ["flash", "math"]
    for kernel in names:
        for repeats in [False, True] if grouped else [False]:
            choice = Choice(kernel, repeats)
            try:
                with choice.alone():
                    choice.burst_ms = burst_ms(passes_of(choice, sizes, dtype, device), device)
                usable.append(choice)
            except RuntimeError as error:
                refused[choice.name()] = str(error).splitlines()[0]
    if not usable:
        raise RuntimeError(f"no attention kernel takes {sizes}: {refused}")
    return sorted(usable, key=lambda choice: choice.burst_ms), refused


def fastest_for_long(choices, sizes, dtype, device):
    """Measures each of the choices in a long stretch and returns the one that is the fastest there."""
    for choice in choices:
        with choice.alone():
            call = passes_of(choice, sizes, dtype, device)
            choice.ms = long_recorded_ms(call, choice.burst_ms, device)
    return min(choices, key=lambda choice: choice.ms)
