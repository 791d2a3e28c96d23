"""Checks nano's training code on random numbers, in vLLM's environment, which has PyTorch.

    python tests/server/nano_worker.py LEARN SCRATCH

Prints its measurements as one line of JSON.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])

import language
import torch
from architecture import CELL_PX, CONTEXT, K, model_config, visual_tokens
from tokenizer import SPECIAL, train_tokenizer
from transformers import Idefics3ForConditionalGeneration, PreTrainedTokenizerFast


def tokenizer_of(folder: Path) -> PreTrainedTokenizerFast:
    texts = ["<|user|>Find red circle at 12.5 s.<end><|assistant|>", '{"thought":"0-1+2=","action":{"cell":12}}'] * 20
    return train_tokenizer(folder, texts, ["red", "circle"], ["red circle"], K, CONTEXT)


def hidden_state_error(model: Idefics3ForConditionalGeneration) -> float:
    """Return the largest difference of hidden states to transformers' own forward pass."""
    rests = [torch.randn(length, 256) for length in (7, 3, 5)]
    errors = []
    for length in (11, language.BLOCK + 9):
        prefix = torch.randn(length, 256)
        sequences = [torch.cat([prefix, rest])[None] for rest in rests]
        expected = [
            model.model.text_model(inputs_embeds=each, use_cache=False).last_hidden_state[0, length:]
            for each in sequences
        ]
        wanted = torch.rand(15) < 0.6
        states = language.hidden_states(model, prefix, torch.cat(rests), [7, 3, 5], wanted)
        errors.append(float((states - torch.cat(expected)[wanted]).abs().max()))
    return max(errors)


def visual_token_error(model: Idefics3ForConditionalGeneration) -> float:
    """Return the largest difference of visual tokens to transformers' own pass."""
    tiles = torch.randn(2, 3, CELL_PX, CELL_PX)
    mask = torch.ones(1, 2, CELL_PX, CELL_PX, dtype=torch.bool)
    expected = model.model.get_image_features(tiles[None], pixel_attention_mask=mask)
    return float((getattr(expected, "pooler_output", expected).squeeze() - visual_tokens(model, tiles)).abs().max())


def main() -> None:
    torch.manual_seed(0)
    tokenizer = tokenizer_of(Path(sys.argv[2]))
    ids = {name: tokenizer.convert_tokens_to_ids(name) for name in SPECIAL}
    model = Idefics3ForConditionalGeneration(model_config(len(tokenizer), ids)).eval()
    model.tie_weights()
    found: dict[str, object] = {"parameters": sum(weight.numel() for weight in model.parameters())}
    with torch.no_grad():
        found["hidden state error"] = hidden_state_error(model)
        found["visual token error"] = visual_token_error(model)
    text = "Find red circle: 0-15, 587.11 s\n“été” [A]"
    found["is reversible"] = tokenizer.decode(tokenizer(text, add_special_tokens=False).input_ids) == text

    def count(text: str) -> int:
        return len(tokenizer(text, add_special_tokens=False).input_ids)

    found["tokens of objects"] = [count(f"{before}red circle") for before in ("", " ")]
    found["tokens of labels"] = [count(f"{before}[B]") for before in ("", "\n", "+")]
    found["tokens of cells"] = [count(f'"cell":{cell}') for cell in (3, 12)]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
