"""Initial weights of the language model: embeddings from the codebook, attention heads that look
back.

To say what a cell shows, the model must find the cell's marker in the view for a number in the
reply, attend to the visual token beside the marker, and name what that shows. Small transformers
find this late, if at all, from random weights. Here one head of the first layer attends to the
previous token and another to the one before it, by RoPE alone; in the layers above, heads attend to
similar tokens; and every head passes on what it attends to. All weights train further. vLLM needs
to know nothing of it: these are weights like any others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from codebook import COMMON_INDEX, COMMON_SHARE, basis, codebook
from transformers import Idefics3ForConditionalGeneration, PreTrainedTokenizerFast

PROMPT_SHARE = 0.7
"""Length of the prompt direction in words as a sentence has them (such as those of the search
task). It sets them apart from the same words in a thought, where they follow a number or a sign,
and from visual tokens."""
OWN_SHARE, PARTS_SHARE = 0.8, 0.6
"""Shares in the token of an object of a direction of its own, and of its colour's and shape's
directions."""
LINE_START = ': "'
"""Joins the words of a line to the cell before them. A token starts the same with and without
it."""

PREVIOUS_SCALE = 0.9
"""How sharply the first two heads attend to earlier tokens."""
SIMILARITY_SCALE = 1.0
"""How strongly the other heads attend to similar tokens."""
LOOKUP_SCALE, PROMPT_BIAS = 1.6, 0.9
"""One head looks up the words of a thought among those of the search task. It needs a larger scale,
or it would attend to everything, and a bias towards words of the prompt, or it would attend to the
word itself; but not so much bias that it attends to other words of the prompt."""
LOOKUP_OUTPUT = 0.4
"""How strongly that head writes its finding as a keyword sign. Without it, nothing rewards the head
for a thousand steps, and the model never learns to look up the first words of a phrase."""
OUTPUT_SCALE = 0.1
"""How much of what a head attends to it passes on."""
FASTEST, SLOWEST = 8, 6
"""Of 64 pairs of RoPE: the pairs that tell neighbouring tokens apart, and those that cancel them,
so that the sum is near zero everywhere but at one distance."""
DISTANCES = (1, 2)
"""Distances to which the first heads attend: what is said of a cell follows its number, and its
name follows that."""
NOISE = 0.02


def initialize(
    model: Idefics3ForConditionalGeneration,
    tokenizer: PreTrainedTokenizerFast,
    values: list[list[str]],
    objects: list[tuple[str, str]],
    counts: list[str],
    k: int,
    seed: int = 0,
) -> None:
    """Initialize the embeddings and the attention of the language model.

    The word of a value starts as the direction of that value, an object as those of its colour and
    shape, the marker of a cell and a count in words as the number, and the first words of a line as
    the same words elsewhere.

    Args:
        model: The model, whose weights change.
        tokenizer: Its tokenizer.
        values: Values of each attribute.
        objects: Every pair of a colour and a shape.
        counts: Counts in words, from zero.
        k: A grid has k×k cells.
        seed: Seed of the random parts.
    """
    directions = codebook([len(part) for part in values])
    generator = torch.Generator().manual_seed(seed)
    table = model.model.text_model.embed_tokens.weight
    with torch.no_grad():
        table.copy_(F.normalize(torch.randn(table.shape, generator=generator), dim=1))
        rows = {
            word: row for row, word in enumerate(word for part in values for word in part) if word
        }
        for word, row in rows.items():
            for token, in_prompt in _single_tokens(tokenizer, word):
                table[token] = (
                    directions[row]
                    + 0.3 * table[token]
                    + in_prompt * PROMPT_SHARE * prompt_direction()
                )
        for colour, shape in objects:
            for token, in_prompt in _single_tokens(tokenizer, f"{colour} {shape}"):
                parts = directions[rows[colour]] + directions[rows[shape]]
                prompt = in_prompt * PROMPT_SHARE * prompt_direction()
                table[token] = OWN_SHARE * table[token] + PARTS_SHARE * parts + prompt
        for number, word in enumerate(counts):
            for token, _ in _single_tokens(tokenizer, word):
                table[token] += PARTS_SHARE * table[tokenizer.convert_tokens_to_ids(str(number))]
        vocabulary = tokenizer.get_vocab()
        for text, token in vocabulary.items():
            if text.startswith(LINE_START) and text.removeprefix(LINE_START) in vocabulary:
                table[token] = table[vocabulary[text.removeprefix(LINE_START)]] + 0.3 * table[token]
        for cell in range(k * k):
            marker = tokenizer.convert_tokens_to_ids(f"<row_{cell // k + 1}_col_{cell % k + 1}>")
            table[marker] = table[tokenizer.convert_tokens_to_ids(str(cell))] + 0.3 * table[marker]
        table += COMMON_SHARE * common_direction()
    keyword, other_word = (tokenizer.convert_tokens_to_ids(sign) for sign in "~,")
    initialize_attention(model, keyword, other_word)


def _single_tokens(tokenizer: PreTrainedTokenizerFast, word: str) -> Iterator[tuple[int, bool]]:
    """Yield the tokens of a word, without and with a blank, as far as each is one token.

    With each comes whether it has the blank, as in sentences; in thoughts, words have none.
    """
    for form in (word, f" {word}"):
        ids = tokenizer(form, add_special_tokens=False).input_ids
        if len(ids) == 1:
            yield ids[0], form != word


def initialize_attention(
    model: Idefics3ForConditionalGeneration, keyword: int, other_word: int, seed: int = 5
) -> None:
    """Initialize the attention of every layer.

    Args:
        model: The model, whose weights change.
        keyword: Id of the sign that marks a word of a thought as a keyword.
        other_word: Id of the sign that marks it as no keyword.
        seed: Seed of the random parts.
    """
    decoder = model.model.text_model
    heads, size, width = (
        decoder.config.num_attention_heads,
        decoder.config.head_dim,
        decoder.config.hidden_size,
    )
    half, quarter = size // 2, size // 4
    generator = torch.Generator().manual_seed(seed)
    frequencies = decoder.rotary_emb.inv_freq
    # RoPE hardly turns these, so they compare content.
    slow = [*range(quarter, half), *range(half + quarter, size)]

    def orthogonal(rows: int, *to: torch.Tensor) -> torch.Tensor:
        drawn = torch.stack([*to, *torch.randn(width - len(to), width, generator=generator)])
        return torch.linalg.qr(drawn.T)[0].T[len(to) : len(to) + rows]

    lookup = (1, heads - 1)
    with torch.no_grad():
        for depth, layer in enumerate(decoder.layers):
            attention = layer.self_attn
            for head in range(heads):
                rows = slice(head * size, (head + 1) * size)
                queries, keys = (
                    NOISE * torch.randn(size, width, generator=generator) for _ in range(2)
                )
                if depth == 0 and head < len(DISTANCES):
                    query, key = _attend_back(DISTANCES[head], frequencies, half)
                    queries += PREVIOUS_SCALE * torch.outer(query, common_direction())
                    keys += PREVIOUS_SCALE * torch.outer(key, common_direction())
                elif depth > 0:
                    # Directions that all tokens or all words of prompts share are no similarity.
                    similar = orthogonal(len(slow), common_direction(), prompt_direction())
                    scale = LOOKUP_SCALE if (depth, head) == lookup else SIMILARITY_SCALE
                    queries[slow] = keys[slow] = scale * similar
                attention.q_proj.weight[rows], attention.k_proj.weight[rows] = queries, keys
                passed = orthogonal(size)
                attention.v_proj.weight[rows], attention.o_proj.weight[:, rows] = (
                    passed,
                    OUTPUT_SCALE * passed.T,
                )
        attention, first = decoder.layers[lookup[0]].self_attn, lookup[1] * size
        attention.q_proj.weight[first + slow[0]] = PROMPT_BIAS * common_direction()
        attention.k_proj.weight[first + slow[0]] = PROMPT_BIAS * prompt_direction()
        attention.v_proj.weight[first] = prompt_direction()
        table = decoder.embed_tokens.weight
        sign = F.normalize(table[keyword] - table[other_word], dim=0)
        attention.o_proj.weight[:, first] = OUTPUT_SCALE * prompt_direction() + LOOKUP_OUTPUT * sign


def common_direction() -> torch.Tensor:
    """Return the direction that all tokens share, words and visual tokens."""
    return basis()[COMMON_INDEX]


def prompt_direction() -> torch.Tensor:
    """Return the direction that only words in sentences have."""
    return basis()[COMMON_INDEX + 1]


def _attend_back(
    distance: int, frequencies: torch.Tensor, half: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a query and a key, (2 × half,) each, that agree best at a distance in tokens."""
    query, key = torch.zeros(2 * half), torch.zeros(2 * half)
    fastest = ((pair, 1.0) for pair in range(FASTEST * half // 64))
    slowest = ((half - 1 - pair, -1.0) for pair in range(SLOWEST * half // 64))
    for pair, sign in (*fastest, *slowest):
        key[pair] = 1.0
        query[pair] = sign * math.cos(distance * float(frequencies[pair]))
        query[pair + half] = -sign * math.sin(distance * float(frequencies[pair]))
    return query, key
