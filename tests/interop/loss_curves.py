"""Do loss curves on a GPU follow PyTorch's? From the same weights, on the same texts, 200 steps of GPT-2 124M.

    ./run.sh python3 interop/loss_curves.py [--steps 200] [--json FILE]       (in a bundle, see ./dev bundle)

PyTorch trains with autocast to bf16 over fp32 parameters and fused AdamW, sheaf with bf16 parameters over fp32
masters, with its fused layers and without. How far two such runs may be apart is taken from PyTorch itself: its
curve for other weights and another order of the same texts. Curves are smoothed over 20 steps, so that single
batches do not count; then, in the second half of the run, sheaf must never be farther from PyTorch's curve than
the second PyTorch curve is from the first at its farthest. In fp32 (no tf32) every single loss must agree within 1e-4.

The learning rate grows over 40 steps, as it does in training. At full rate from the start the loss jumps from 5.6 to
12.5 in step 20, in fp32 and on CPUs, too, and any difference with it: PyTorch with another attention kernel is 1e-5 from
itself there, and 1e-6 at most in the steps around.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import nn

# What gpu_tests trains; see loss_curve_role.
SHAPES = {
    "124m": {"layers": 12, "width": 768, "heads": 12, "vocabulary": 50257, "context": 1024},
    "tiny": {"layers": 2, "width": 64, "heads": 2, "vocabulary": 256, "context": 64},
}
LEARNING_RATE, BETAS, EPSILON, DECAY = 1e-4, (0.9, 0.95), 1e-8, 0.1
WARM_UP = 40
WINDOW = 20
FP32_TOLERANCE = 1e-4


class Conv1D(nn.Module):
    """A linear layer whose weight is [in, out], as GPT-2 keeps it."""

    def __init__(self, inputs, outputs, deviation):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inputs, outputs) * deviation)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return F.linear(x, self.weight.t(), self.bias)


class Block(nn.Module):
    def __init__(self, shape):
        super().__init__()
        width, self.heads = shape["width"], shape["heads"]
        residual = 0.02 / (2 * shape["layers"]) ** 0.5
        self.ln_1 = nn.LayerNorm(width)
        self.attn = nn.ModuleDict(
            {"c_attn": Conv1D(width, 3 * width, 0.02), "c_proj": Conv1D(width, width, residual)}
        )
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = nn.ModuleDict(
            {"c_fc": Conv1D(width, 4 * width, 0.02), "c_proj": Conv1D(4 * width, width, residual)}
        )

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in self.attn.c_attn(self.ln_1(x)).split(width, -1)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.attn.c_proj(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp.c_proj(F.gelu(self.mlp.c_fc(self.ln_2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    """Named as Hugging Face's GPT-2, whose names sheaf has too."""

    def __init__(self, shape):
        super().__init__()
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(shape["vocabulary"], shape["width"]),
                "wpe": nn.Embedding(shape["context"], shape["width"]),
                "h": nn.ModuleList(Block(shape) for _ in range(shape["layers"])),
                "ln_f": nn.LayerNorm(shape["width"]),
            }
        )
        nn.init.normal_(self.transformer.wte.weight, 0, 0.02)
        nn.init.normal_(self.transformer.wpe.weight, 0, 0.01)

    def forward(self, tokens, targets):
        parts = self.transformer
        x = parts.wte(tokens) + parts.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in parts.h:
            x = block(x)
        logits = F.linear(parts.ln_f(x), parts.wte.weight)
        return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def texts(args, seed):
    """Returns [steps, batch, length + 1] tokens: pieces of a text, as bytes."""
    folder = os.path.dirname(os.path.abspath(__file__))
    corpus = open(args.text or os.path.join(folder, "tinyshakespeare.txt"), "rb").read()
    tokens = torch.frombuffer(bytearray(corpus), dtype=torch.uint8).long()
    random = torch.Generator().manual_seed(seed)
    starts = torch.randint(len(tokens) - args.length - 1, (args.steps, args.batch), generator=random)
    return tokens[starts.unsqueeze(-1) + torch.arange(args.length + 1)]


def learning_rate_factors(steps):
    return ((torch.arange(steps, dtype=torch.double) + 1) / WARM_UP).clamp(max=1)


def new_model(args, seed):
    torch.manual_seed(seed)
    return Gpt2(SHAPES[args.size])


def train_pytorch(model, batches, precision, args):
    model = model.to(args.device)
    decayed = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": DECAY}, {"params": others, "weight_decay": 0.0}],
        lr=LEARNING_RATE,
        betas=BETAS,
        eps=EPSILON,
        fused=True,
    )
    losses = []
    for batch, factor in zip(batches.to(args.device), learning_rate_factors(len(batches)).tolist()):
        for group in optimizer.param_groups:
            group["lr"] = LEARNING_RATE * factor
        with torch.autocast(args.device, torch.bfloat16, enabled=precision == "bf16"):
            loss = model(batch[:, :-1], batch[:, 1:])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.detach())
    return torch.stack(losses).double().cpu()


def train_sheaf(folder, precision, layers, args):
    command = [
        args.program,
        "--roles=loss_curve",
        f"--device={args.device}",
        "--backend=" + ("nccl" if args.device == "cuda" else "shared"),
        f"--folder={folder}",
        f"--precision={precision}",
        f"--layers={layers}",
    ]
    subprocess.run(command, check=True, stdout=sys.stderr)
    # A copy: the next run writes the file anew, and the tensor is a view of it.
    return load_file(os.path.join(folder, "losses"))["losses"].clone()


def smoothed(losses):
    return losses.unfold(0, WINDOW, 1).mean(-1)[-(len(losses) // 2) :]


def distance(a, b):
    return (a - b).abs().max().item()


def compare(args):
    model, batches = new_model(args, seed=1), texts(args, seed=1)
    with tempfile.TemporaryDirectory() as folder:
        start = {name: value.detach().contiguous() for name, value in model.named_parameters()}
        start["batches"] = batches
        start["factors"] = learning_rate_factors(len(batches))
        shape = SHAPES[args.size]
        start["shape"] = torch.tensor([shape[k] for k in ("layers", "width", "heads", "vocabulary", "context")])
        start["settings"] = torch.tensor([LEARNING_RATE, *BETAS, EPSILON, DECAY], dtype=torch.double)
        save_file(start, os.path.join(folder, "start"))
        curves = {"sheaf " + p: train_sheaf(folder, p, "fused", args) for p in args.precisions}
        if "bf16" in args.precisions:
            curves["sheaf bf16, not fused"] = train_sheaf(folder, "bf16", "plain", args)
    for precision in args.precisions:
        curves["pytorch " + precision] = train_pytorch(new_model(args, 1), batches, precision, args)
    if "bf16" in args.precisions:
        other = train_pytorch(new_model(args, 2), texts(args, seed=2), "bf16", args)
        curves["pytorch bf16, other seed"] = other
    return curves


def judge_bf16(curves):
    """Prints how far curves are apart and tells whether PyTorch's own two are farther."""
    pytorch, sheaf = (smoothed(curves[side + " bf16"]) for side in ("pytorch", "sheaf"))
    noise = distance(pytorch, smoothed(curves["pytorch bf16, other seed"]))
    gap = distance(pytorch, sheaf)
    plain = smoothed(curves["sheaf bf16, not fused"])
    from_plain, of_plain = distance(sheaf, plain), distance(pytorch, plain)
    print(f"bf16, smoothed: sheaf is {gap:.5f} from PyTorch; PyTorch's other seed is {noise:.5f} from it,")
    if "pytorch fp32" in curves:
        print(f"  and PyTorch's own fp32 curve {distance(pytorch, smoothed(curves['pytorch fp32'])):.5f}")
    print(f"  without fused layers sheaf is {of_plain:.5f} from PyTorch and {from_plain:.5f} from itself with them")
    return max(gap, of_plain, from_plain) <= noise


def judge_fp32(curves):
    gaps = (curves["pytorch fp32"] - curves["sheaf fp32"]).abs()
    exact, step = gaps.max().item(), gaps.argmax().item()
    print(
        f"fp32, step by step: sheaf is at most {exact:.2e} from PyTorch (in step {step}); "
        f"allowed are {FP32_TOLERANCE:.0e}"
    )
    return exact <= FP32_TOLERANCE


def judge(curves):
    """Prints what was found and tells whether it is well."""
    for name, curve in curves.items():
        print(f"{name:26} first {curve[0]:.5f}, last {WINDOW} on average {curve[-WINDOW:].mean():.5f}")
    verdicts = [judge_bf16(curves)] if "sheaf bf16" in curves else []
    if "sheaf fp32" in curves:
        verdicts.append(judge_fp32(curves))
    return all(verdicts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--length", type=int, default=256, help="tokens of a text")
    parser.add_argument("--size", choices=list(SHAPES), default="124m")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
    parser.add_argument("--program", default="./gpu_tests")
    parser.add_argument("--precisions", nargs="+", choices=["fp32", "bf16"], default=["fp32", "bf16"])
    parser.add_argument("--text", help="what is learnt; else tinyshakespeare.txt beside this file")
    parser.add_argument("--json", help="file for all curves")
    args = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    curves = compare(args)
    if args.json:
        with open(args.json, "w") as file:
            json.dump({name: curve.tolist() for name, curve in curves.items()}, file)
    if not judge(curves):
        sys.exit("loss_curves: sheaf does not follow PyTorch")


if __name__ == "__main__":
    main()
