"""Hugging Face's side of the exchange: transformers_peer.py MODE MODEL FOLDER.

Every mode starts from FOLDER/weights, random weights of a small MODEL under Hugging Face's names,
and makes them if they are not there.
MODE make    does nothing else.
MODE pass    reads FOLDER/batch (inputs, targets), writes FOLDER/passed: logits, the sum of the
             losses, and the gradient of every weight as gradient.NAME.
MODE train   reads FOLDER/batch (inputs and targets of every step), writes FOLDER/trained: the mean
             loss of every step as losses, and the weights after the last as weight.NAME.

MODEL is gpt2, llama or smollm3. All files are safetensors.
"""

import pathlib
import sys

import torch
import torch.nn.functional as F
import transformers
from safetensors.torch import load_file, save_file

VOCABULARY, CONTEXT, WIDTH, HEADS, KV_HEADS, HIDDEN = 61, 24, 32, 4, 2, 80
# Epsilon is so large that Adam does not blow up the rounding noise in gradients that are nearly zero.
ADAMW = {"lr": 1e-3, "eps": 1e-4, "weight_decay": 0.1}
LAST_RATE, MAX_NORM = 1e-4, 1.0


def gpt2():
    # In training nothing may be dropped: no two libraries draw the same numbers.
    drops = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    sizes = {"n_layer": 3, "n_embd": WIDTH, "n_head": HEADS, "n_inner": HIDDEN}
    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(vocab_size=VOCABULARY, n_positions=CONTEXT, **sizes, **drops, **TOKENS)
    )


def llama():
    return transformers.LlamaForCausalLM(
        transformers.LlamaConfig(num_hidden_layers=3, rms_norm_eps=1e-5, tie_word_embeddings=False, **SIZES)
    )


def smollm3():
    # Of five layers the fourth goes without rotary positions.
    return transformers.SmolLM3ForCausalLM(
        transformers.SmolLM3Config(num_hidden_layers=5, rope_theta=5e6, tie_word_embeddings=True, **SIZES)
    )


TOKENS = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": None}
SIZES = {
    "vocab_size": VOCABULARY,
    "max_position_embeddings": CONTEXT,
    "hidden_size": WIDTH,
    "intermediate_size": HIDDEN,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    **TOKENS,
}
MODELS = {"gpt2": gpt2, "llama": llama, "smollm3": smollm3}


def logits_and_loss(model, inputs, targets):
    logits = model(inputs, use_cache=False).logits
    return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum")


def make(model, folder):
    # Large values everywhere, so that every part of the model has a say in the result.
    torch.manual_seed(7)
    for name, value in model.named_parameters():
        if value.dim() > 1:
            value.data.normal_(0, 0.2)
        else:
            value.data.normal_(0 if name.endswith("bias") else 1, 0.2)
    save_file({name: value.data for name, value in model.named_parameters()}, folder / "weights")


def run_pass(model, folder):
    batch = load_file(folder / "batch")
    logits, loss = logits_and_loss(model, batch["inputs"], batch["targets"])
    loss.backward()
    result = {"logits": logits.detach(), "loss": loss.detach()}
    for name, value in model.named_parameters():
        result[f"gradient.{name}"] = value.grad
    save_file(result, folder / "passed")


def train(model, folder):
    batch = load_file(folder / "batch")
    optimizer = torch.optim.AdamW(model.parameters(), **ADAMW)
    steps = len(batch["inputs"])
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps, eta_min=LAST_RATE)
    losses = torch.zeros(steps, dtype=torch.float64)
    for step, (inputs, targets) in enumerate(zip(batch["inputs"], batch["targets"])):
        loss = logits_and_loss(model, inputs, targets)[1] / targets.numel()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
        optimizer.step()
        schedule.step()
        losses[step] = loss.item()
    result = {f"weight.{name}": value.data for name, value in model.named_parameters()}
    save_file({"losses": losses, **result}, folder / "trained")


def main():
    mode, name, folder = sys.argv[1:]
    folder = pathlib.Path(folder)
    model = MODELS[name]()
    if not (folder / "weights").exists():
        make(model, folder)
    # A tied head is another name of the embedding, which the file has once.
    model.load_state_dict(load_file(folder / "weights"), strict=False)
    model.tie_weights()
    model.train()
    if mode != "make":
        {"pass": run_pass, "train": train}[mode](model, folder)


if __name__ == "__main__":
    main()
