"""What the mind is born with: weights that make the circuits it needs easy to find, instead of weights drawn at random.

To tell what a cell shows, a number in a reply has to find its marker in the sheet, look at the visual token beside it,
and say what is there. Small transformers find that late, if at all, from random weights. Here one head of the first
layer looks one token back and another two, by RoPE alone; in the layers above, heads attend to what resembles; and
what a head sees, it passes on. All of it is learned further, and vLLM knows nothing of it: these are weights like any
others.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from transformers import Idefics3ForConditionalGeneration
from vision import COMMON, directions_all

BACK = 0.9
"""How sharply those heads look back."""
ALIKE = 1.0
"""How much the others are drawn to what resembles."""
SHARP, FAVOUR = 1.6, 0.9
"""One head looks words of a thought up among those of the task: drawn more sharply to what is the same, or it would
look at everything, and to words of sentences, or it would look at the word itself; but not so much that it looks at
others of them."""
LINK = 0.4
"""How loudly it says so, by the sign that means it: without that, nothing tells it for a thousand steps that it was of
use, and the words that come first in a phrase are never looked up."""
PASSED = 0.1
"""How much of what is seen is passed on."""
FASTEST, SLOWEST = 8, 6
"""Of 64 pairs of RoPE: those that tell neighbours apart, and those that are set against them, so that the sum is near
zero everywhere but so many tokens back."""
LOOK_BACK = (1, 2)
"""How far: what is said of a cell stands right behind its number, what is named there one token further."""
NOISE = 0.02


def wire(model: Idefics3ForConditionalGeneration, wanted: int, unwanted: int, seed: int = 5) -> None:
    """Give every layer's attention its first weights; of two tokens, say the one of what is among the words of a
    sentence, and the other of what is not."""
    mind = model.model.text_model
    heads, size, width = mind.config.num_attention_heads, mind.config.head_dim, mind.config.hidden_size
    half, quarter = size // 2, size // 4
    drawn = torch.Generator().manual_seed(seed)
    pace = mind.rotary_emb.inv_freq
    slow = [*range(quarter, half), *range(half + quarter, size)]  # content is compared where RoPE hardly turns

    def at_right_angles(rows: int, *to: torch.Tensor) -> torch.Tensor:
        drawn_first = torch.stack([*to, *torch.randn(width - len(to), width, generator=drawn)])
        return torch.linalg.qr(drawn_first.T)[0].T[len(to) : len(to) + rows]

    looks_up = (1, heads - 1)
    with torch.no_grad():
        for depth, layer in enumerate(mind.layers):
            own = layer.self_attn
            for head in range(heads):
                rows = slice(head * size, (head + 1) * size)
                asks, offers = (NOISE * torch.randn(size, width, generator=drawn) for _ in range(2))
                if depth == 0 and head < len(LOOK_BACK):
                    ask, offer = _back(LOOK_BACK[head], pace, half)
                    asks += BACK * torch.outer(ask, common())
                    offers += BACK * torch.outer(offer, common())
                elif depth > 0:
                    # What all words have in common, or all words of sentences, is no resemblance.
                    alike = at_right_angles(len(slow), common(), asked())
                    asks[slow] = offers[slow] = (SHARP if (depth, head) == looks_up else ALIKE) * alike
                own.q_proj.weight[rows], own.k_proj.weight[rows] = asks, offers
                seen = at_right_angles(size)
                own.v_proj.weight[rows], own.o_proj.weight[:, rows] = seen, PASSED * seen.T
        own, first = mind.layers[looks_up[0]].self_attn, looks_up[1] * size
        own.q_proj.weight[first + slow[0]] = FAVOUR * common()
        own.k_proj.weight[first + slow[0]] = FAVOUR * asked()
        own.v_proj.weight[first] = asked()
        table = mind.embed_tokens.weight
        own.o_proj.weight[:, first] = PASSED * asked() + LINK * F.normalize(table[wanted] - table[unwanted], dim=0)


def common() -> torch.Tensor:
    """Return the direction that all tokens have in common, words and sights."""
    return directions_all()[COMMON]


def asked() -> torch.Tensor:
    """Return the direction of the words of sentences, which nothing seen and nothing thought has."""
    return directions_all()[COMMON + 1]


def _back(tokens: int, pace: torch.Tensor, half: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return what the head asks and what each token offers, so that they agree so many tokens apart."""
    ask, offer = torch.zeros(2 * half), torch.zeros(2 * half)
    fastest = ((pair, 1.0) for pair in range(FASTEST * half // 64))
    slowest = ((half - 1 - pair, -1.0) for pair in range(SLOWEST * half // 64))
    for pair, sign in (*fastest, *slowest):
        offer[pair] = 1.0
        ask[pair] = sign * math.cos(tokens * float(pace[pair]))
        ask[pair + half] = -sign * math.sin(tokens * float(pace[pair]))
    return ask, offer
