"""The second lesson: to search. The language model learns the teacher's replies.

Lessons come in groups that begin alike, and what is alike is gone over once: each example attends to it and to itself.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Any

import initialization
import torch
import torch.nn.functional as F
from architecture import quickly
from tokenizer import expanded
from transformers import Idefics3ForConditionalGeneration, PreTrainedTokenizerFast
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb
from vision import SHARED, directions, summed

PEAK = 1e-3
"""Of the pace of learning."""
ASKED = 0.7
"""How much sets a word within a sentence, such as that which says what to look for, apart from the same word in a
thought, which stands behind a number or a sign, and from the same thing seen."""

WHOLE, PARTS = 0.8, 0.6
"""How much an object is a thing of its own, and how much a colour and a shape."""
SAID = ': "'
"""What joins the words of a line to the number before them: with it or without, they are the same words."""
BLOCK = 512
"""Tokens of a start that look back at once: none looks at what comes after its block, which saves half in long ones."""
GRAIN = 32
"""Lengths are filled up to multiples of it: a processor's library compiles a product of matrices for its shape, which
took nearly as long as all products, where no two groups had one shape."""


@dataclass(frozen=True)
class Group:
    """Token ids of one start and of the examples that go on from it, with what their images show."""

    start: list[int]
    start_tiles: list[list[int] | None]
    rests: list[list[int]]
    rest_tiles: list[list[list[int] | None]]
    replies: list[int]
    """How many tokens at the end of each example are the reply."""

    @property
    def tokens(self) -> int:
        """How many tokens are gone over."""
        return len(self.start) + sum(map(len, self.rests))


def written_out(text: str, images: Sequence[dict[str, Any]]) -> tuple[str, list[list[int] | None]]:
    """Return a text with its images spelt out in tiles, and what each visual token shows."""
    tiles: list[list[int] | None] = []
    for image in images:
        rows = -(-len(image["tiles"]) // image["columns"])
        text = text.replace("<image>", expanded(image["columns"], rows).replace("<image>", "<IMAGE>"), 1)
        tiles += [*image["tiles"], None]  # and the whole, made small
    return text.replace("<IMAGE>", "<image>"), tiles


def group_of(
    row: dict[str, Any], most: int, words: PreTrainedTokenizerFast, rng: random.Random, tokens: int = 2400
) -> Group:
    """Take some examples of a row of lessons, at most so many and so many tokens."""
    text, tiles = written_out(row["prefix"], row["images"])
    start = words(text, add_special_tokens=False).input_ids
    rests: list[list[int]] = []
    rest_tiles: list[list[list[int] | None]] = []
    replies: list[int] = []
    total = len(start)
    # Where there is something to be seen comes first, four times as likely.
    examples = sorted(row["examples"], key=lambda each: -(rng.random() ** (0.25 if is_eventful(each) else 1.0)))
    for example in examples[:most]:
        rest, more = written_out(example["rest"], example["images"])
        asked = words(rest, add_special_tokens=False).input_ids
        reply = words(example["reply"] + "<end>", add_special_tokens=False).input_ids
        total += len(asked) + len(reply)
        if rests and total > tokens:
            break
        rests.append(asked + reply)
        rest_tiles.append(more)
        replies.append(len(reply))
    return Group(start, tiles, rests, rest_tiles, replies)


def is_eventful(example: dict[str, Any]) -> bool:
    """Tell whether a reply says more than that there is nothing."""
    return example["step"] != "step" or "+-=-" not in example["reply"]


def features(tiles: Sequence[list[int] | None], sizes: list[int], book: torch.Tensor, blur: float) -> torch.Tensor:
    """Return visual tokens as the eyes would see these tiles: their directions, blurred; anything at all where it is
    not told what a tile shows."""
    anything = [[random.randrange(size) for size in sizes] for _ in tiles]
    shown = torch.tensor([tile if tile is not None else other for tile, other in zip(tiles, anything, strict=True)])
    clear = summed(shown.view(-1, len(sizes)), sizes, book)
    unclear = torch.tensor([tile is None for tile in tiles])[:, None]
    far = torch.rand(len(tiles), 1) * 1.5
    return clear * torch.where(unclear, far, 1.0) + torch.randn_like(clear) * blur * torch.rand(len(tiles), 1) * 2


def think(
    model: Idefics3ForConditionalGeneration,
    start: torch.Tensor,
    rests: torch.Tensor,
    lengths: Sequence[int],
    wanted: torch.Tensor,
) -> torch.Tensor:
    """Return the last states of those tokens of the rests that are wanted: start (P, D), rests (T, D), which are one
    after another and so long each, and T times whether it is wanted, to (wanted, D).

    The same as the language model's own pass over each start and rest in one, but the start is gone over once, and what
    is not wanted is left out of the last layer. Rests are filled up to the same length for attention alone, and all
    lengths to a multiple of GRAIN, with what nothing attends to.
    """
    mind = model.model.text_model
    p, t, s, n = len(start), len(rests), len(lengths), int(wanted.sum())
    heads, size = mind.config.num_attention_heads, mind.config.head_dim
    first, length = filled(p), filled(max(lengths))
    within_rest = torch.cat([torch.arange(each) for each in lengths])
    flat = (torch.repeat_interleave(torch.arange(s) * length, torch.tensor(lengths)) + within_rest).to(start.device)
    places = torch.cat([torch.arange(first), p + within_rest, torch.zeros(filled(t) - t, dtype=torch.long)])
    cos, sin = mind.rotary_emb(start, places[None].to(start.device))
    x = torch.cat([F.pad(start, (0, 0, 0, first - p)), F.pad(rests, (0, 0, 0, filled(t) - t))])
    back_from = F.pad(flat, (0, filled(t) - t))
    taken = F.pad(wanted.nonzero()[:, 0], (0, filled(n) - n))
    before = torch.ones(first, first, dtype=torch.bool, device=start.device).triu(1)
    within = torch.ones(length, length, dtype=torch.bool, device=start.device).triu(1)
    beyond = torch.arange(first, device=start.device) >= p
    blocks = range(0, first, BLOCK)
    for layer in mind.layers:
        normed, own = layer.input_layernorm(x), layer.self_attn
        q, k, v = (
            part(normed).view(1, -1, heads, size).transpose(1, 2) for part in (own.q_proj, own.k_proj, own.v_proj)
        )
        q, k = apply_rotary_pos_emb(q, k, cos.to(q.dtype), sin.to(q.dtype))
        q = q * size**-0.5
        spread = (
            part.new_zeros(heads, s * length, size).index_copy(1, flat, part[0, :, first : first + t])
            for part in (q, k, v)
        )
        qs, ks, vs = (part.view(heads, s, length, size) for part in spread)
        back = qs.view(heads, s * length, size) @ k[0, :, :first].transpose(1, 2)
        back = back.masked_fill(beyond, -1e4).view(heads, s, length, first)
        near = (qs @ ks.transpose(2, 3)).masked_fill(within, -1e4)
        both = torch.cat([back, near], -1).float().softmax(-1).to(v.dtype)
        told = (both[..., :first].reshape(heads, s * length, first) @ v[0, :, :first]).view(heads, s, length, size)
        told = (told + both[..., first:] @ vs).permute(1, 2, 0, 3).reshape(s * length, heads * size)[back_from]
        if layer is mind.layers[-1]:
            x, told = x[first:][taken], told[taken]
        else:
            seen = torch.cat([_seen(q[0], k[0], v[0], before, at, min(at + BLOCK, first)) for at in blocks], 1)
            seen = seen.transpose(0, 1).reshape(first, heads * size)
            told = torch.cat([seen, told])
        x = x + own.o_proj(told)
        x = x + layer.mlp(layer.post_attention_layernorm(x))
    return mind.norm(x)[:n]


def _seen(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, before: torch.Tensor, begin: int, end: int
) -> torch.Tensor:
    """Return what the tokens of a block, from `begin` to `end`, see of those up to it: (heads, block, size)."""
    scores = (q[:, begin:end] @ k[:, :end].transpose(1, 2)).masked_fill(before[begin:end, :end], -1e4)
    return scores.float().softmax(-1).to(v.dtype) @ v[:, :end]


def filled(length: int) -> int:
    """Return a length, filled up."""
    return -(-length // GRAIN) * GRAIN


def lost(
    model: Idefics3ForConditionalGeneration,
    group: Group,
    image: int,
    sizes: list[int],
    book: torch.Tensor,
    blur: float = 0.02,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the loss of each token of the replies, whether it was right, and the token."""
    embed = model.model.text_model.embed_tokens
    device = embed.weight.device

    def embedded(ids: list[int], tiles: list[list[int] | None]) -> torch.Tensor:
        tokens = torch.tensor(ids, device=device)
        known = embed(tokens)
        if not tiles:
            return known
        return known.masked_scatter((tokens == image)[:, None], features(tiles, sizes, book, blur).to(device))

    start = embedded(group.start, group.start_tiles)
    rests = embedded([*chain(*group.rests)], [*chain(*group.rest_tiles)])
    lengths, ends = [len(rest) for rest in group.rests], list(accumulate(map(len, group.rests)))
    told = torch.tensor([token for rest, n in zip(group.rests, group.replies, strict=True) for token in rest[-n:]])
    wanted = torch.zeros(len(rests), dtype=torch.bool)
    for end, reply in zip(ends, group.replies, strict=True):
        wanted[end - reply - 1 : end - 1] = True  # each token follows from the state of the one before
    told, wanted = told.to(device), wanted.to(device)
    with quickly(device):
        states = think(model, start, rests, lengths, wanted)
        scores = model.lm_head(F.pad(states, (0, 0, 0, filled(len(told)) - len(told))))[: len(told)]
    loss = F.cross_entropy(scores.float(), told, reduction="none")
    return loss, scores.argmax(-1) == told, told


def begin(
    model: Idefics3ForConditionalGeneration,
    words: PreTrainedTokenizerFast,
    values: list[list[str]],
    objects: list[tuple[str, str]],
    counts: list[str],
    k: int,
    seed: int = 0,
) -> None:
    """Give the tokens their first meaning: a word for what is seen begins as the direction of the sight, an object as
    that of its colour and shape, the marker of a cell and a count in words as the number, the first words of a line as
    the same words elsewhere; and the layers theirs."""
    book = directions([len(part) for part in values])
    drawn = torch.Generator().manual_seed(seed)
    table = model.model.text_model.embed_tokens.weight
    with torch.no_grad():
        table.copy_(F.normalize(torch.randn(table.shape, generator=drawn), dim=1))
        where = {word: place for place, word in enumerate(word for part in values for word in part) if word}
        for word, place in where.items():
            for token, is_asked in _tokens(words, word):
                table[token] = book[place] + 0.3 * table[token] + is_asked * ASKED * initialization.asked()
        for colour, shape in objects:
            for token, is_asked in _tokens(words, f"{colour} {shape}"):
                both = book[where[colour]] + book[where[shape]]
                table[token] = WHOLE * table[token] + PARTS * both + is_asked * ASKED * initialization.asked()
        for number, word in enumerate(counts):
            for token, _ in _tokens(words, word):
                table[token] += PARTS * table[words.convert_tokens_to_ids(str(number))]
        known = words.get_vocab()
        for text, token in known.items():
            if text.startswith(SAID) and text.removeprefix(SAID) in known:
                table[token] = table[known[text.removeprefix(SAID)]] + 0.3 * table[token]
        for cell in range(k * k):
            marker = words.convert_tokens_to_ids(f"<row_{cell // k + 1}_col_{cell % k + 1}>")
            table[marker] = table[words.convert_tokens_to_ids(str(cell))] + 0.3 * table[marker]
        table += SHARED * initialization.common()
    wanted, unwanted = (words.convert_tokens_to_ids(sign) for sign in "~,")
    initialization.wire(model, wanted, unwanted)


def _tokens(words: PreTrainedTokenizerFast, word: str) -> Iterator[tuple[int, bool]]:
    """Yield the token of a word, as it stands in a thought; and that of the word with a blank before it, as it stands
    in a sentence, and whether it is that; as far as each is one token."""
    for form in (word, f" {word}"):
        ids = words(form, add_special_tokens=False).input_ids
        if len(ids) == 1:
            yield ids[0], form != word
