"""Hugging Face's side of models in and out: hub_peer.py make ROOT, hub_peer.py load ROOT FOLDER...

make    saves a random model of each kind below as ROOT/KIND/model, with save_pretrained.
load    loads every ROOT/KIND/FOLDER with from_pretrained, in fp32.

Either writes what the models do: ROOT/KIND/FOLDER.passed, a safetensors file with the inputs, the
targets, logits, the sum of the losses, the gradient of every weight as gradient.NAME, and the
tokens that follow `prompt` when the likeliest one is always taken, as generated.
"""

import pathlib
import sys

import torch
import torch.nn.functional as F
import transformers
from safetensors.torch import save_file

TOKENS = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}
NO_DROPOUT = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
PROMPT, NEW_TOKENS = [5, 17, 3], 12


def gpt2(**sizes):
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes, **NO_DROPOUT, **TOKENS))


def llama(**sizes):
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes, **TOKENS))


def smollm3(**sizes):
    return transformers.SmolLM3ForCausalLM(transformers.SmolLM3Config(**sizes, **TOKENS))


EVEN = {"vocab_size": 64, "hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 80}
ODD = {"vocab_size": 101, "hidden_size": 48, "num_attention_heads": 3, "intermediate_size": 77}
# How a kind is built, the type it is saved in, and the most bytes of a file.
KINDS = {
    "gpt2": (lambda: gpt2(vocab_size=64, n_positions=32, n_embd=32, n_layer=3, n_head=4), "float32", "5GB"),
    "gpt2_odd": (
        lambda: gpt2(vocab_size=101, n_positions=19, n_embd=48, n_layer=2, n_head=3, n_inner=50,
                     layer_norm_epsilon=1e-4, activation_function="gelu_pytorch_tanh"),
        "bfloat16", "20KB"),
    "llama": (
        lambda: llama(**EVEN, num_hidden_layers=3, num_key_value_heads=2, max_position_embeddings=32),
        "float32", "30KB"),
    "llama_odd": (
        lambda: llama(**ODD, num_hidden_layers=2, num_key_value_heads=1, head_dim=10, rope_theta=500.0,
                      rms_norm_eps=1e-5, max_position_embeddings=19),
        "bfloat16", "5GB"),
    "llama_tied": (
        lambda: llama(**ODD, num_hidden_layers=1, max_position_embeddings=19, tie_word_embeddings=True),
        "float16", "5GB"),
    "smollm3": (
        lambda: smollm3(**EVEN, num_hidden_layers=5, num_key_value_heads=2, max_position_embeddings=32,
                        rope_theta=5e6, tie_word_embeddings=True),
        "bfloat16", "5GB"),
    "smollm3_odd": (
        lambda: smollm3(**ODD, num_hidden_layers=3, num_key_value_heads=3, max_position_embeddings=19,
                        no_rope_layer_interval=2, tie_word_embeddings=False),
        "float32", "40KB"),
}


def fill(model):
    # Large values everywhere, so that every part of the model has a say in the result.
    torch.manual_seed(7)
    for name, value in model.named_parameters():
        if value.dim() > 1:
            value.data.normal_(0, 0.2)
        else:
            value.data.normal_(0 if name.endswith("bias") else 1, 0.2)


def run(folder):
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    model.eval()
    torch.manual_seed(11)
    inputs = torch.randint(0, model.config.vocab_size, (3, 17))
    targets = torch.randint(0, model.config.vocab_size, (3, 17))
    logits = model(inputs, use_cache=False).logits
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum")
    loss.backward()
    prompt = torch.tensor([PROMPT])
    generated = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=NEW_TOKENS, do_sample=False)
    result = {"inputs": inputs, "targets": targets, "logits": logits.detach(), "loss": loss.detach()}
    result |= {"prompt": prompt[0], "generated": generated[0, len(PROMPT):].clone()}
    for name, value in model.named_parameters():
        result[f"gradient.{name}"] = value.grad
    save_file(result, f"{folder}.passed")


def make(root):
    for kind, (build, dtype, size) in KINDS.items():
        model = build()
        fill(model)
        model.to(getattr(torch, dtype)).save_pretrained(root / kind / "model", max_shard_size=size)


def main():
    mode, root, *folders = sys.argv[1:]
    root = pathlib.Path(root)
    if mode == "make":
        make(root)
        folders = ["model"]
    for folder in folders:
        for kind in KINDS:
            run(root / kind / folder)


if __name__ == "__main__":
    main()
