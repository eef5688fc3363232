"""Hugging Face's side of generation: generate_peer.py filters IN OUT, generate_peer.py texts ROOT

filters reads `logits` [cases, vocabulary], `texts` [cases, length] and `settings` [cases, 4] (repetition
        penalty, temperature, top_k, top_p) from a safetensors file, changes the logits by the classes
        that generate() uses, and writes them as `logits`.
texts   saves a random model of each kind of hub_peer.py as ROOT/KIND/model, and continues several
        prompts, each alone, always with the likeliest token: ROOT/KIND/texts has `prompt.I`, what
        follows it as `plain.I`, and under a repetition penalty of 1.3 as `penalised.I`.
"""

import pathlib
import sys

import hub_peer
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import LogitsProcessorList, RepetitionPenaltyLogitsProcessor
from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

PROMPTS = [[5, 17, 3], [60], [1, 2, 3, 4, 5, 6, 7, 8], [9, 9]]
NEW_TOKENS = 10
PENALTY = 1.3


def filters(source, target):
    cases = load_file(source)
    changed = []
    for logits, text, settings in zip(cases["logits"], cases["texts"], cases["settings"]):
        penalty, temperature, top_k, top_p = settings.tolist()
        steps = LogitsProcessorList([RepetitionPenaltyLogitsProcessor(penalty)])
        steps.append(TemperatureLogitsWarper(temperature))
        if top_k > 0:
            steps.append(TopKLogitsWarper(int(top_k)))
        if top_p < 1:
            steps.append(TopPLogitsWarper(top_p))
        changed.append(steps(text[None], logits[None].clone())[0])
    save_file({"logits": torch.stack(changed)}, target)


def continued(model, prompt, **options):
    prompt = torch.tensor([prompt])
    mask = torch.ones_like(prompt)
    tokens = model.generate(prompt, attention_mask=mask, max_new_tokens=NEW_TOKENS, do_sample=False,
                            use_cache=True, **options)
    return tokens[0, prompt.size(1):].clone()


def texts(root):
    hub_peer.make(root)
    for kind in hub_peer.KINDS:
        model = transformers.AutoModelForCausalLM.from_pretrained(root / kind / "model", dtype=torch.float32)
        model.eval()
        result = {}
        for i, prompt in enumerate(PROMPTS):
            result[f"prompt.{i}"] = torch.tensor(prompt)
            result[f"plain.{i}"] = continued(model, prompt)
            result[f"penalised.{i}"] = continued(model, prompt, repetition_penalty=PENALTY)
        save_file(result, root / kind / "texts")


def main():
    if sys.argv[1] == "filters":
        filters(*sys.argv[2:])
    else:
        texts(pathlib.Path(sys.argv[2]))


if __name__ == "__main__":
    main()
