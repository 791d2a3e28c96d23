"""Run by tests in the environment that vLLM runs in, which has PyTorch: checks what learns, on a toy.

python tests/nano_worker.py LEARN SCRATCH
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])

import language
import optimizer
import torch
import vision
from architecture import CELL, CONTEXT, K, config, look
from tokenizer import SPECIAL
from tokenizer import make as make_tokenizer
from transformers import Idefics3ForConditionalGeneration, PreTrainedTokenizerFast


def tokenizer_of(folder: Path) -> PreTrainedTokenizerFast:
    texts = ["<|user|>Find red circle at 12.5 s.<end><|assistant|>", '{"thought":"0-1+2=","action":{"cell":12}}'] * 20
    return make_tokenizer(folder, texts, ["red", "circle"], ["red circle"], K, CONTEXT)


def main() -> None:
    torch.manual_seed(0)
    tokenizer = tokenizer_of(Path(sys.argv[2]))
    ids = {name: tokenizer.convert_tokens_to_ids(name) for name in SPECIAL}
    model = Idefics3ForConditionalGeneration(config(len(tokenizer), ids)).eval()
    model.tie_weights()
    found: dict[str, object] = {"parameters": sum(weight.numel() for weight in model.parameters())}
    with torch.no_grad():
        rests = [torch.randn(length, 256) for length in (7, 3, 5)]
        far = []
        for length in (11, language.BLOCK + 9):
            start = torch.randn(length, 256)
            whole = [torch.cat([start, rest])[None] for rest in rests]
            passes = [
                model.model.text_model(inputs_embeds=each, use_cache=False).last_hidden_state[0, length:]
                for each in whole
            ]
            taken = torch.rand(15) < 0.6
            states = language.think(model, start, torch.cat(rests), [7, 3, 5], taken)
            far.append(float((states - torch.cat(passes)[taken]).abs().max()))
        found["mind"] = max(far)
        tiles = torch.randn(2, 3, CELL, CELL)
        mask = torch.ones(1, 2, CELL, CELL, dtype=torch.bool)
        seen = model.model.get_image_features(tiles[None], pixel_attention_mask=mask)
        found["eyes"] = float((getattr(seen, "pooler_output", seen).squeeze() - look(model, tiles)).abs().max())
    book = vision.directions([9, 4, 9])
    found["book"] = float((book @ book.T - torch.eye(22)).abs().max())
    text = "Find red circle: 0-15, 587.11 s\n“été” [A]"
    found["words"] = tokenizer.decode(tokenizer(text, add_special_tokens=False).input_ids) == text
    found["objects"] = [len(tokenizer(f"{a}red circle", add_special_tokens=False).input_ids) for a in ("", " ")]
    found["labels"] = [len(tokenizer(f"{a}[B]", add_special_tokens=False).input_ids) for a in ("", "\n", "+")]
    found["cells"] = [len(tokenizer(f'"cell":{n}', add_special_tokens=False).input_ids) for n in (3, 12)]
    slopes = torch.randn(3, 24, 8) * torch.logspace(-2, 0, 8)  # some directions are a hundred times fainter
    found["evened"] = [float(each) for each in torch.linalg.svdvals(optimizer.evened(slopes)).flatten().aminmax()]
    weight = torch.nn.Parameter(torch.zeros(24, 8))
    wanted, leads = torch.randn(24, 8), optimizer.Guide(optimizer.Muon([{"params": [weight]}], lr=0.02, decay=0.0))
    for _ in range(300):
        weight.grad = weight.detach() - wanted
        leads.step()
    found["led"] = float((weight.detach() - wanted).norm() / wanted.norm())
    print(json.dumps(found))


if __name__ == "__main__":
    main()
