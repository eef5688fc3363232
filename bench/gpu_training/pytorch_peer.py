"""The PyTorch side of gpu_training: one process trains one model, eagerly or compiled.

    python3 pytorch_peer.py TASK.json [--compile]

TASK.json is what gpu_training writes. Parameters are fp32 and products bf16 (autocast), or all is as the row
says; AdamW is fused and gradients are not clipped. The task says how many tokens the model has, padded or not,
and which kernel computes attention: one by name, the one that PyTorch takes by itself (default), or the one
that is the fastest for the sizes (an empty name). The batch is on the device already. Figures are one line of
JSON on stdout.
"""

import argparse
import json
import statistics
import time
from contextlib import nullcontext
from types import SimpleNamespace

import torch
from attention import Choice, ranked_choices
from models import make_model


class Run:
    """A model, its optimizer and what a step does."""

    def __init__(self, task, choice, compiled):
        self.task, self.choice = task, choice
        shape = SimpleNamespace(**task.shape)
        all_bf16 = task.arithmetic == "bf16"
        dtype = torch.bfloat16 if all_bf16 else torch.float32
        model = make_model(shape, choice.attend, dtype, task.device)
        self.parameters = sum(each.numel() for each in model.parameters())
        self.optimizer = torch.optim.AdamW(
            model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True
        )
        self.model = torch.compile(model) if compiled else model
        size = (task.batch, shape.length)
        self.inputs, self.targets = (
            torch.randint(task.tokens, size, device=task.device) for _ in range(2)
        )

    def autocast(self):
        if self.task.arithmetic != "bf16_master":
            return nullcontext()
        return torch.autocast(self.task.device, torch.bfloat16)

    def step(self):
        with self.choice.alone(), self.autocast():
            loss = self.model(self.inputs, self.targets)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.detach()


def begin(task, compiled):
    """Takes the first step, with the task's attention kernel or the fastest that a whole step can take.

    Returns the run and how long it took to get there; the search for a kernel does not count.
    """
    dtype = torch.float32 if task.arithmetic in ("fp32", "tf32") else torch.bfloat16
    if task.attention:
        # Not every kernel takes fewer keys than queries without repeating them.
        choices = [Choice(task.attention, repeats) for repeats in (False, True)]
    else:
        choices, _ = ranked_choices(task.attention_sizes, dtype, task.device)
    reasons = []
    for choice in choices:
        try:
            began = time.perf_counter()
            run = Run(task, choice, compiled)
            run.step().item()
            return run, time.perf_counter() - began
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            reasons.append(f"{choice.name()}: {error}")
            torch._dynamo.reset()
    raise RuntimeError("no attention kernel takes a step: " + "; ".join(reasons))


def time_on_gpu(run, steps):
    """Returns the milliseconds of each step, by events between them."""
    events = [torch.cuda.Event(enable_timing=True) for _ in range(steps + 1)]
    events[0].record()
    for event in events[1:]:
        loss = run.step()
        event.record()
    events[-1].synchronize()
    return loss, [a.elapsed_time(b) for a, b in zip(events, events[1:], strict=False)]


def time_on_cpu(run, steps):
    times = []
    for _ in range(steps):
        began = time.perf_counter()
        loss = run.step()
        times.append((time.perf_counter() - began) * 1e3)
    return loss, times


def measure(run, task):
    on_gpu = task.device == "cuda"
    for _ in range(task.warm_up - 1):
        run.step()
    if on_gpu:
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
    began = time.perf_counter()
    loss, times = (time_on_gpu if on_gpu else time_on_cpu)(run, task.steps)
    wall = (time.perf_counter() - began) * 1e3 / task.steps
    return {
        "step_ms": statistics.median(times),
        "wall_ms": wall,
        "steps_ms": times,
        "peak_bytes": torch.cuda.max_memory_allocated() if on_gpu else 0,
        # JSON has no NaN.
        "loss": loss.item() if loss.isfinite() else None,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task")
    parser.add_argument("--compile", action="store_true")
    args = parser.parse_args()
    with open(args.task) as file:
        task = SimpleNamespace(**json.load(file))
    torch.backends.cuda.matmul.allow_tf32 = task.arithmetic == "tf32"
    start_s = time.time() - task.started
    run, first_s = begin(task, args.compile)
    figures = measure(run, task)
    figures["first_step_s"] = start_s + first_s
    figures["attention"] = run.choice.name()
    figures["parameters"] = run.parameters
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
