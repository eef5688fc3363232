"""Times generate() of transformers: transformers_peer.py REQUEST_JSON

Prints one JSON object: seconds up to the first new token and from there to the last, of every
repetition after one that warms up, and the tokens of the first text.
"""
import json
import sys
import time

import torch
import transformers


class Watch(transformers.StoppingCriteria):
    """Never stops; notes when the first new token is there."""

    def __init__(self, texts):
        self.first = None
        self.never = torch.zeros(texts, dtype=torch.bool)

    def __call__(self, tokens, scores, **kwargs):
        if self.first is None:
            self.first = time.perf_counter()
        return self.never


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        request = json.load(file)
    torch.set_num_threads(request["threads"])
    transformers.utils.logging.set_verbosity_error()
    model = transformers.AutoModelForCausalLM.from_pretrained(request["folder"], dtype=torch.float32)
    model.eval()
    prompts = torch.tensor(request["prompts"])
    result = {"prompt": [], "later": []}
    for i in range(request["repetitions"] + 1):
        watch = Watch(len(prompts))
        begin = time.perf_counter()
        with torch.inference_mode():
            tokens = model.generate(prompts, attention_mask=torch.ones_like(prompts), use_cache=True, do_sample=False,
                                    max_new_tokens=request["tokens"], min_new_tokens=request["tokens"], pad_token_id=0,
                                    stopping_criteria=transformers.StoppingCriteriaList([watch]))
        end = time.perf_counter()
        if i == 0:
            continue
        result["prompt"].append(watch.first - begin)
        result["later"].append(end - watch.first)
        result["generated"] = tokens[0, prompts.size(1):].tolist()
    print(json.dumps(result))


if __name__ == "__main__":
    main()
