"""The language model's forward pass over groups of examples with a shared prefix, their texts and
images as tokens, and the losses.

Examples come in groups with a common prefix. The forward pass computes the prefix once; each
example attends to the prefix and to itself.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Any

import torch
import torch.nn.functional as F
from architecture import autocast
from codebook import target_tokens
from tokenizer import expand_image
from transformers import Idefics3ForConditionalGeneration, PreTrainedTokenizerFast
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

PEAK_RATE = 1e-3
"""Highest learning rate."""
BLOCK = 512
"""Tokens of a prefix whose attention is computed together. A block does not attend to later blocks,
which saves half of the computation in long prefixes."""
GRANULE = 32
"""Lengths are padded to multiples of this. The CPU's library compiles matrix products for each
shape; when no two groups had the same shapes, compiling took nearly as long as the products."""


@dataclass(frozen=True)
class TokenizedGroup:
    """The token ids of a prefix and of the examples that continue it.

    Attributes:
        prefix: Token ids of the prefix.
        prefix_tiles: Label indices of each visual token in the prefix; None without labels.
        rests: Token ids of each example after the prefix, including its reply.
        rest_tiles: Label indices of each visual token in the rests.
        replies: Number of tokens at the end of each rest that are the reply.
    """

    prefix: list[int]
    prefix_tiles: list[list[int] | None]
    rests: list[list[int]]
    rest_tiles: list[list[list[int] | None]]
    replies: list[int]

    @property
    def tokens(self) -> int:
        """Tokens that the forward pass processes."""
        return len(self.prefix) + sum(map(len, self.rests))


def expand_images(
    text: str, images: Sequence[dict[str, Any]]
) -> tuple[str, list[list[int] | None]]:
    """Replace images in a text by their tiles; return it with the labels of each visual token."""
    tiles: list[list[int] | None] = []
    for image in images:
        rows = -(-len(image["tiles"]) // image["columns"])
        text = text.replace(
            "<image>", expand_image(image["columns"], rows).replace("<image>", "<IMAGE>"), 1
        )
        tiles += [*image["tiles"], None]  # after its tiles, the whole image once more, scaled down
    return text.replace("<IMAGE>", "<image>"), tiles


def tokenize_group(
    group: dict[str, Any],
    max_examples: int,
    tokenizer: PreTrainedTokenizerFast,
    rng: random.Random,
    max_tokens: int = 2400,
) -> TokenizedGroup:
    """Draw examples of a group and tokenize them.

    Args:
        group: A group as the training data has it.
        max_examples: Most examples to take.
        tokenizer: The tokenizer.
        rng: Draws the examples; eventful ones are four times as likely as the others.
        max_tokens: Most tokens to take, unless a single example has more.
    """
    text, tiles = expand_images(group["prefix"], group["images"])
    prefix = tokenizer(text, add_special_tokens=False).input_ids
    rests: list[list[int]] = []
    rest_tiles: list[list[list[int] | None]] = []
    replies: list[int] = []
    total = len(prefix)
    examples = sorted(
        group["examples"], key=lambda each: -(rng.random() ** (0.25 if is_eventful(each) else 1.0))
    )
    for example in examples[:max_examples]:
        rest, more_tiles = expand_images(example["rest"], example["images"])
        prompt = tokenizer(rest, add_special_tokens=False).input_ids
        reply = tokenizer(example["reply"] + "<end>", add_special_tokens=False).input_ids
        total += len(prompt) + len(reply)
        if rests and total > max_tokens:
            break
        rests.append(prompt + reply)
        rest_tiles.append(more_tiles)
        replies.append(len(reply))
    return TokenizedGroup(prefix, tiles, rests, rest_tiles, replies)


def is_eventful(example: dict[str, Any]) -> bool:
    """Tell whether the reply of an example does more than say that there is nothing."""
    return example["step"] != "step" or "+-=-" not in example["reply"]


def simulated_tokens(
    tiles: Sequence[list[int] | None], sizes: list[int], directions: torch.Tensor, noise: float
) -> torch.Tensor:
    """Return visual tokens as the vision tower would compute them: the target tokens plus noise.

    A tile without labels gets the token of random values, at a random length.

    Args:
        tiles: Label indices of each tile; None without labels.
        sizes: Number of values of each attribute.
        directions: The codebook.
        noise: Mean standard deviation of the noise; it varies from tile to tile.

    Returns:
        Tokens, (tiles, WIDTH).
    """
    random_labels = [[random.randrange(size) for size in sizes] for _ in tiles]
    labels = torch.tensor(
        [
            tile if tile is not None else other
            for tile, other in zip(tiles, random_labels, strict=True)
        ]
    )
    tokens = target_tokens(labels.view(-1, len(sizes)), sizes, directions)
    unlabelled = torch.tensor([tile is None for tile in tiles])[:, None]
    length = torch.rand(len(tiles), 1) * 1.5
    return (
        tokens * torch.where(unlabelled, length, 1.0)
        + torch.randn_like(tokens) * noise * torch.rand(len(tiles), 1) * 2
    )


def hidden_states(
    model: Idefics3ForConditionalGeneration,
    prefix: torch.Tensor,
    rests: torch.Tensor,
    lengths: Sequence[int],
    wanted: torch.Tensor,
) -> torch.Tensor:
    """Return the last hidden states of selected tokens of the rests.

    Computes the same as the language model's own forward pass over prefix and rest, for each rest,
    but processes the prefix once and only the selected tokens in the last layer. Attention pads all
    rests to one length. All lengths are padded to multiples of GRANULE; no token attends to the
    padding.

    Args:
        model: The model.
        prefix: Embeddings of the prefix, (P, D).
        rests: Embeddings of all rests, one after another, (T, D).
        lengths: Length of each rest; their sum is T.
        wanted: Which tokens of the rests to return, (T,).

    Returns:
        Hidden states, (wanted, D).
    """
    decoder = model.model.text_model
    p, t, n = len(prefix), len(rests), int(wanted.sum())
    heads, size = decoder.config.num_attention_heads, decoder.config.head_dim
    layout = _layout(p, lengths, prefix.device)
    first = layout.prefix
    cos, sin = decoder.rotary_emb(prefix, layout.positions[None].to(prefix.device))
    x = torch.cat([F.pad(prefix, (0, 0, 0, first - p)), F.pad(rests, (0, 0, 0, padded(t) - t))])
    unflat = F.pad(layout.slots, (0, padded(t) - t))
    taken = F.pad(wanted.nonzero()[:, 0], (0, padded(n) - n))
    later_in_prefix = torch.ones(first, first, dtype=torch.bool, device=prefix.device).triu(1)
    for layer in decoder.layers:
        normed, attention = layer.input_layernorm(x), layer.self_attn
        projections = (attention.q_proj, attention.k_proj, attention.v_proj)
        q, k, v = (
            project(normed).view(1, -1, heads, size).transpose(1, 2) for project in projections
        )
        q, k = apply_rotary_pos_emb(q, k, cos.to(q.dtype), sin.to(q.dtype))
        q = q * size**-0.5
        attended = _attend_rests(q[0], k[0], v[0], layout)[unflat]
        if layer is decoder.layers[-1]:
            x, attended = x[first:][taken], attended[taken]
        else:
            blocks = ((begin, min(begin + BLOCK, first)) for begin in range(0, first, BLOCK))
            of_prefix = torch.cat(
                [_attend_prefix(q[0], k[0], v[0], later_in_prefix, *block) for block in blocks], 1
            )
            of_prefix = of_prefix.transpose(0, 1).reshape(first, heads * size)
            attended = torch.cat([of_prefix, attended])
        x = x + attention.o_proj(attended)
        x = x + layer.mlp(layer.post_attention_layernorm(x))
    return decoder.norm(x)[:n]


@dataclass(frozen=True)
class _Layout:
    """Where the tokens of a prefix and its rests stand in padded tensors."""

    prefix: int
    """Padded length of the prefix."""
    rests: int
    """Number of rests."""
    length: int
    """Length to which attention pads all rests."""
    slots: torch.Tensor
    """Place of each token among the padded rests, (T,)."""
    positions: torch.Tensor
    """Position of each token for RoPE, those of the padded prefix first."""
    is_padding: torch.Tensor
    """Which tokens of the padded prefix are padding, (prefix,)."""
    later_in_rest: torch.Tensor
    """Which tokens of a padded rest come after each of its tokens, (length, length)."""


def _layout(prefix: int, lengths: Sequence[int], device: torch.device) -> _Layout:
    first, length, t, s = padded(prefix), padded(max(lengths)), sum(lengths), len(lengths)
    within_rest = torch.cat([torch.arange(each) for each in lengths])
    slots = (
        torch.repeat_interleave(torch.arange(s) * length, torch.tensor(lengths)) + within_rest
    ).to(device)
    positions = torch.cat(
        [torch.arange(first), prefix + within_rest, torch.zeros(padded(t) - t, dtype=torch.long)]
    )
    is_padding = torch.arange(first, device=device) >= prefix
    later_in_rest = torch.ones(length, length, dtype=torch.bool, device=device).triu(1)
    return _Layout(first, s, length, slots, positions, is_padding, later_in_rest)


def _attend_rests(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, layout: _Layout
) -> torch.Tensor:
    """Return the attention of the rests to the prefix and to themselves.

    Args:
        q: Queries of the padded prefix and the rests, (heads, tokens, size).
        k: Their keys.
        v: Their values.
        layout: Where the tokens stand.

    Returns:
        The attention of all padded rests, (rests × length, heads × size).
    """
    heads, _, size = q.shape
    first, s, length, t = layout.prefix, layout.rests, layout.length, len(layout.slots)
    spread = (
        each.new_zeros(heads, s * length, size).index_copy(
            1, layout.slots, each[:, first : first + t]
        )
        for each in (q, k, v)
    )
    qs, ks, vs = (each.view(heads, s, length, size) for each in spread)
    to_prefix = qs.view(heads, s * length, size) @ k[:, :first].transpose(1, 2)
    to_prefix = to_prefix.masked_fill(layout.is_padding, -1e4).view(heads, s, length, first)
    to_rest = (qs @ ks.transpose(2, 3)).masked_fill(layout.later_in_rest, -1e4)
    weights = torch.cat([to_prefix, to_rest], -1).float().softmax(-1).to(v.dtype)
    attended = weights[..., :first].reshape(heads, s * length, first) @ v[:, :first]
    attended = attended.view(heads, s, length, size) + weights[..., first:] @ vs
    return attended.permute(1, 2, 0, 3).reshape(s * length, heads * size)


def _attend_prefix(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, later: torch.Tensor, begin: int, end: int
) -> torch.Tensor:
    """Return the attention of the prefix's tokens from `begin` to `end`, (heads, block, size)."""
    scores = (q[:, begin:end] @ k[:, :end].transpose(1, 2)).masked_fill(
        later[begin:end, :end], -1e4
    )
    return scores.float().softmax(-1).to(v.dtype) @ v[:, :end]


def padded(length: int) -> int:
    """Return the smallest multiple of GRANULE that is not less than a length."""
    return -(-length // GRANULE) * GRANULE


def token_losses(
    model: Idefics3ForConditionalGeneration,
    group: TokenizedGroup,
    image_token: int,
    sizes: list[int],
    directions: torch.Tensor,
    noise: float = 0.02,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Compute the loss of the replies of a group.

    Args:
        model: The model.
        group: The group.
        image_token: Id of the token that a visual token replaces.
        sizes: Number of values of each attribute.
        directions: The codebook.
        noise: Mean standard deviation of the noise in visual tokens.

    Returns:
        For each token of the replies: its cross-entropy in nats, whether the model predicts it, its
        id.
    """
    embed = model.model.text_model.embed_tokens
    device = embed.weight.device

    def embedded(ids: list[int], tiles: list[list[int] | None]) -> torch.Tensor:
        tokens = torch.tensor(ids, device=device)
        words = embed(tokens)
        if not tiles:
            return words
        visual = simulated_tokens(tiles, sizes, directions, noise).to(device)
        return words.masked_scatter((tokens == image_token)[:, None], visual)

    prefix = embedded(group.prefix, group.prefix_tiles)
    rests = embedded([*chain(*group.rests)], [*chain(*group.rest_tiles)])
    lengths, ends = [len(rest) for rest in group.rests], list(accumulate(map(len, group.rests)))
    targets = torch.tensor(
        [token for rest, n in zip(group.rests, group.replies, strict=True) for token in rest[-n:]]
    )
    wanted = torch.zeros(len(rests), dtype=torch.bool)
    for end, reply in zip(ends, group.replies, strict=True):
        wanted[end - reply - 1 : end - 1] = True  # the state of each token predicts the next one
    targets, wanted = targets.to(device), wanted.to(device)
    with autocast(device):
        states = hidden_states(model, prefix, rests, lengths, wanted)
        scores = model.lm_head(F.pad(states, (0, 0, 0, padded(len(targets)) - len(targets))))[
            : len(targets)
        ]
    loss = F.cross_entropy(scores.float(), targets, reduction="none")
    return loss, scores.argmax(-1) == targets, targets
