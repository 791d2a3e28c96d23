"""Tokens, forward pass and loss of the language model, for groups of examples.

The examples of a group have a common prefix and differ in the *rest*, which is the end of the
prompt and the reply. The forward pass computes the prefix once; each rest attends to the prefix and
to itself.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
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
"""Lengths are padded to multiples of this. oneDNN compiles matrix products for each shape; when no
two groups had the same shapes, compiling took nearly as long as computing the products."""


@dataclass(frozen=True)
class TokenizedGroup:
    """The token ids of a prefix and of the rests that continue it.

    Attributes:
        prefix: Token ids of the prefix.
        prefix_tiles: Label indices of each visual token in the prefix; None without labels.
        rests: Token ids of each rest.
        rest_tiles: Label indices of each visual token in each rest.
        replies: Length of the reply at the end of each rest, in tokens.
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
    """Replace each image in a text by the text that stands for its tiles.

    Returns:
        The new text, and the label indices of each of its visual tokens; None without labels.
    """
    pieces = text.split("<image>")
    expanded = pieces[0]
    tiles: list[list[int] | None] = []
    for image, piece in zip(images, pieces[1:], strict=True):
        rows = math.ceil(len(image["tiles"]) / image["columns"])
        expanded += expand_image(image["columns"], rows) + piece
        tiles += [*image["tiles"], None]  # the last token is of the whole image, scaled down
    return expanded, tiles


def tokenize_group(
    group: dict[str, Any],
    max_examples: int,
    tokenizer: PreTrainedTokenizerFast,
    rng: random.Random,
    max_tokens: int = 2400,
) -> TokenizedGroup:
    """Draw examples of a group and tokenize them.

    Args:
        group: A group of the training data.
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
    # A sample without replacement with weights of 4 and 1 (Efraimidis and Spirakis).
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
    """Return whether the reply of an example says more than that there is nothing."""
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
    labels = [
        drawn if tile is None else tile for tile, drawn in zip(tiles, random_labels, strict=True)
    ]
    tokens = target_tokens(torch.tensor(labels).view(-1, len(sizes)), sizes, directions)
    is_unlabelled = torch.tensor([tile is None for tile in tiles])[:, None]
    length = torch.where(is_unlabelled, torch.rand(len(tiles), 1) * 1.5, 1.0)
    return tokens * length + torch.randn_like(tokens) * noise * torch.rand(len(tiles), 1) * 2


def hidden_states(
    model: Idefics3ForConditionalGeneration,
    prefix: torch.Tensor,
    rests: torch.Tensor,
    lengths: Sequence[int],
    wanted: torch.Tensor,
) -> torch.Tensor:
    """Return the last hidden states of selected tokens of the rests.

    For each rest, this computes the same as the language model's own forward pass over prefix and
    rest. But it processes the prefix once, and the last layer only for the selected tokens.
    Attention pads all rests to one length. All lengths are padded to multiples of GRANULE; no token
    attends to the padding.

    Args:
        model: The model.
        prefix: Embeddings of the prefix, (P, D).
        rests: Embeddings of all rests, one after another, (T, D).
        lengths: Length of each rest; their sum is T.
        wanted: Whether to return each token of the rests, (T,).

    Returns:
        Hidden states, (number of wanted tokens, D).
    """
    decoder = model.model.text_model
    heads = decoder.config.num_attention_heads
    size = decoder.config.head_dim
    layout = _layout(len(prefix), lengths, prefix.device)
    cos, sin = decoder.rotary_emb(prefix, layout.positions[None].to(prefix.device))
    x = torch.cat([_pad_rows(prefix), _pad_rows(rests)])
    slots = _pad_rows(layout.slots)
    selected = _pad_rows(wanted.nonzero()[:, 0])
    first = layout.prefix
    later_in_prefix = torch.ones(first, first, dtype=torch.bool, device=prefix.device).triu(1)
    for layer in decoder.layers:
        normed = layer.input_layernorm(x)
        attention = layer.self_attn
        projections = (attention.q_proj, attention.k_proj, attention.v_proj)
        q, k, v = (
            project(normed).view(1, -1, heads, size).transpose(1, 2) for project in projections
        )
        q, k = apply_rotary_pos_emb(q, k, cos.to(q.dtype), sin.to(q.dtype))
        q = q * size**-0.5
        attended = _attend_rests(q[0], k[0], v[0], layout)[slots]
        if layer is decoder.layers[-1]:
            x = x[first:][selected]
            attended = attended[selected]
        else:
            blocks = [
                _attend_prefix(q[0], k[0], v[0], later_in_prefix, begin, min(begin + BLOCK, first))
                for begin in range(0, first, BLOCK)
            ]
            of_prefix = torch.cat(blocks, 1).transpose(0, 1).reshape(first, heads * size)
            attended = torch.cat([of_prefix, attended])
        x = x + attention.o_proj(attended)
        x = x + layer.mlp(layer.post_attention_layernorm(x))
    return decoder.norm(x)[: int(wanted.sum())]


@dataclass(frozen=True)
class _Layout:
    """Where the tokens of a prefix and of its rests stand in padded tensors.

    In queries, keys and values, the padded prefix comes first, and then the rests one after another
    with padding only at the end. For attention, each rest is padded to one length.
    """

    prefix: int
    """Padded length of the prefix."""
    rests: int
    """Number of rests."""
    length: int
    """Length to which attention pads all rests."""
    slots: torch.Tensor
    """Index of each token of the rests among the rests padded for attention, (T,)."""
    positions: torch.Tensor
    """Position of each token for RoPE: first the padded prefix, then the rests."""
    is_padding: torch.Tensor
    """Whether each token of the padded prefix is padding, (prefix,)."""
    later_in_rest: torch.Tensor
    """Whether a token of a rest (second index) comes after another (first), (length, length)."""


def _layout(prefix: int, lengths: Sequence[int], device: torch.device) -> _Layout:
    """Return the layout of a prefix of this length and of rests of these lengths."""
    first = padded(prefix)
    length = padded(max(lengths))
    within_rest = torch.cat([torch.arange(each) for each in lengths])
    begins = torch.arange(len(lengths)) * length
    slots = torch.repeat_interleave(begins, torch.tensor(lengths)) + within_rest
    positions = torch.cat([torch.arange(first), _pad_rows(prefix + within_rest)])
    return _Layout(
        prefix=first,
        rests=len(lengths),
        length=length,
        slots=slots.to(device),
        positions=positions,
        is_padding=torch.arange(first, device=device) >= prefix,
        later_in_rest=torch.ones(length, length, dtype=torch.bool, device=device).triu(1),
    )


def _attend_rests(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, layout: _Layout
) -> torch.Tensor:
    """Return the attention of the rests to the prefix and to themselves.

    Args:
        q: Queries of the padded prefix and the rests, (heads, tokens, size).
        k: Keys of the same tokens.
        v: Values of the same tokens.
        layout: Where the tokens stand.

    Returns:
        The attention of all padded rests, (rests × length, heads × size).
    """
    heads, _, size = q.shape
    first, count, length = layout.prefix, layout.rests, layout.length

    def by_rest(states: torch.Tensor) -> torch.Tensor:
        """Return the states of the rests, each padded, (heads, rests, length, size)."""
        of_rests = states[:, first : first + len(layout.slots)]
        zeros = states.new_zeros(heads, count * length, size)
        return zeros.index_copy(1, layout.slots, of_rests).view(heads, count, length, size)

    qs, ks, vs = by_rest(q), by_rest(k), by_rest(v)
    to_prefix = qs.view(heads, count * length, size) @ k[:, :first].transpose(1, 2)
    to_prefix = to_prefix.masked_fill(layout.is_padding, -1e4).view(heads, count, length, first)
    to_rest = (qs @ ks.transpose(2, 3)).masked_fill(layout.later_in_rest, -1e4)
    weights = torch.cat([to_prefix, to_rest], -1).float().softmax(-1).to(v.dtype)
    attended = weights[..., :first].reshape(heads, count * length, first) @ v[:, :first]
    attended = attended.view(heads, count, length, size) + weights[..., first:] @ vs
    return attended.permute(1, 2, 0, 3).reshape(count * length, heads * size)


def _attend_prefix(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, later: torch.Tensor, begin: int, end: int
) -> torch.Tensor:
    """Return the attention of the prefix's tokens from `begin` to `end`, (heads, block, size).

    `later` tells whether a token of the prefix (second index) comes after another (first).
    """
    scores = q[:, begin:end] @ k[:, :end].transpose(1, 2)
    scores = scores.masked_fill(later[begin:end, :end], -1e4)
    return scores.float().softmax(-1).to(v.dtype) @ v[:, :end]


def padded(length: int) -> int:
    """Return the smallest multiple of GRANULE that is not less than a length."""
    return math.ceil(length / GRANULE) * GRANULE


def _pad_rows(rows: torch.Tensor) -> torch.Tensor:
    """Return a tensor padded with zeros to a multiple of GRANULE along its first dimension."""
    missing = padded(len(rows)) - len(rows)
    return F.pad(rows, (0, 0) * (rows.ndim - 1) + (0, missing))


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
        For each token of the replies: its cross-entropy in nats, whether the model predicts the
        token, and the token's id.
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
    reply_tokens: list[int] = []
    wanted = torch.zeros(len(rests), dtype=torch.bool)
    end = 0
    for rest, reply in zip(group.rests, group.replies, strict=True):
        reply_tokens += rest[-reply:]
        end += len(rest)
        wanted[end - reply - 1 : end - 1] = True  # the state of each token predicts the next one
    targets = torch.tensor(reply_tokens, device=device)
    lengths = [len(rest) for rest in group.rests]
    with autocast(device):
        states = hidden_states(model, prefix, rests, lengths, wanted.to(device))
        scores = model.lm_head(_pad_rows(states))[: len(targets)]
    loss = F.cross_entropy(scores.float(), targets, reduction="none")
    return loss, scores.argmax(-1) == targets, targets
