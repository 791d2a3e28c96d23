"""Initial weights of the language model: embeddings from the codebook, and attention heads.

To say what a cell shows, the model must find the cell's marker in the view for a number in the
reply, attend to the visual token beside the marker, and name what the token shows. From random
weights, small transformers learn this late, if at all. Here, one head of the first layer attends to
the previous token, and another one to the token before that, by RoPE alone. In the layers above,
heads attend to similar tokens. Every head passes on what it attends to. All weights train further.
They are ordinary weights, so vLLM serves the model without any change.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from codebook import COMMON_INDEX, COMMON_SHARE, basis, codebook
from transformers import Idefics3ForConditionalGeneration, PreTrainedTokenizerFast

PROMPT_SHARE = 0.7
"""Length of the component along the prompt direction in the tokens of words that follow a blank, as
in sentences. It sets them apart from visual tokens and from the same words in a thought, where they
follow a number or a sign."""
OWN_SHARE = 0.8
"""Length of the random direction of its own in the token of an object."""
PARTS_SHARE = 0.6
"""Length of the directions of its colour and its shape in the token of an object."""
LINE_START = ': "'
"""The characters between the number of a cell and the words of a subtitle line. A token that begins
with them starts like the token without them."""

PREVIOUS_SCALE = 0.9
"""How sharply the first two heads of the first layer attend to earlier tokens."""
SIMILARITY_SCALE = 1.0
"""How strongly the heads of the other layers attend to similar tokens."""
LOOKUP_SCALE = 1.6
"""The same for the *lookup head*, which looks up each word of a thought among the words of the
search task. With a smaller scale it would attend to everything."""
PROMPT_BIAS = 0.9
"""Bias of the lookup head towards words of the prompt. Without a bias it would attend to the word
itself; with a larger one, to other words of the prompt."""
LOOKUP_OUTPUT = 0.4
"""How strongly the lookup head writes that it found the word, along the difference of the two signs
for keywords and other words. Without this, nothing rewards the head for a thousand steps, and the
model never learns to look up the first words of a phrase."""
OUTPUT_SCALE = 0.1
"""Factor by which a head scales what it attends to before passing it on."""
FASTEST, SLOWEST = 8, 6
"""Of 64 pairs of RoPE: the number of fastest pairs, which tell neighbouring tokens apart, and of
slowest pairs, which cancel them so that the sum is near zero at all distances but one."""
DISTANCES = (1, 2)
"""Distances in tokens at which the first heads attend: what is said of a cell follows its number,
and the number follows the cell's name."""
NOISE = 0.02
"""Standard deviation of the random part of queries and keys."""


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

    The embedding of a value's word starts as the direction of the value, and that of an object as
    the directions of its colour and shape. The marker of a cell and a count in words start as the
    number, and the first words of a subtitle line as the same words elsewhere.

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
        words = [word for part in values for word in part]
        rows = {word: row for row, word in enumerate(words) if word}
        for word, row in rows.items():
            for token, in_prompt in _single_tokens(tokenizer, word):
                prompt = in_prompt * PROMPT_SHARE * prompt_direction()
                table[token] = directions[row] + 0.3 * table[token] + prompt
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
            same_words = vocabulary.get(text.removeprefix(LINE_START))
            if text.startswith(LINE_START) and same_words is not None:
                table[token] = table[same_words] + 0.3 * table[token]
        for cell in range(k * k):
            marker = tokenizer.convert_tokens_to_ids(f"<row_{cell // k + 1}_col_{cell % k + 1}>")
            table[marker] = table[tokenizer.convert_tokens_to_ids(str(cell))] + 0.3 * table[marker]
        table += COMMON_SHARE * common_direction()
    keyword, other_word = (tokenizer.convert_tokens_to_ids(sign) for sign in "~,")
    initialize_attention(model, keyword, other_word)


def _single_tokens(tokenizer: PreTrainedTokenizerFast, word: str) -> Iterator[tuple[int, bool]]:
    """Yield the token of a word without a blank, and that with a blank, if it is a single token.

    With each token comes whether it has the blank, as words in the sentences of a prompt do; in
    thoughts, words have none.
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
        other_word: Id of the sign that marks a word of a thought as not a keyword.
        seed: Seed of the random parts.
    """
    decoder = model.model.text_model
    heads = decoder.config.num_attention_heads
    size = decoder.config.head_dim
    width = decoder.config.hidden_size
    half, quarter = size // 2, size // 4
    generator = torch.Generator().manual_seed(seed)
    frequencies = decoder.rotary_emb.inv_freq
    # RoPE hardly turns these dimensions of a head, so they compare content.
    slow = [*range(quarter, half), *range(half + quarter, size)]

    def orthogonal(rows: int, *to: torch.Tensor) -> torch.Tensor:
        """Draw orthonormal rows, (rows, width), that are orthogonal to some directions."""
        drawn = torch.stack([*to, *torch.randn(width - len(to), width, generator=generator)])
        return torch.linalg.qr(drawn.T)[0].T[len(to) : len(to) + rows]

    lookup_layer, lookup_head = 1, heads - 1
    with torch.no_grad():
        for depth, layer in enumerate(decoder.layers):
            attention = layer.self_attn
            for head in range(heads):
                rows = slice(head * size, (head + 1) * size)
                queries = NOISE * torch.randn(size, width, generator=generator)
                keys = NOISE * torch.randn(size, width, generator=generator)
                if depth == 0 and head < len(DISTANCES):
                    query, key = _attend_back(DISTANCES[head], frequencies, half)
                    queries += PREVIOUS_SCALE * torch.outer(query, common_direction())
                    keys += PREVIOUS_SCALE * torch.outer(key, common_direction())
                elif depth > 0:
                    # Directions that all tokens or all words of prompts share say nothing about how
                    # similar two tokens are.
                    similar = orthogonal(len(slow), common_direction(), prompt_direction())
                    is_lookup = (depth, head) == (lookup_layer, lookup_head)
                    scale = LOOKUP_SCALE if is_lookup else SIMILARITY_SCALE
                    queries[slow] = keys[slow] = scale * similar
                attention.q_proj.weight[rows] = queries
                attention.k_proj.weight[rows] = keys
                passed = orthogonal(size)
                attention.v_proj.weight[rows] = passed
                attention.o_proj.weight[:, rows] = OUTPUT_SCALE * passed.T
        attention = decoder.layers[lookup_layer].self_attn
        first = lookup_head * size
        attention.q_proj.weight[first + slow[0]] = PROMPT_BIAS * common_direction()
        attention.k_proj.weight[first + slow[0]] = PROMPT_BIAS * prompt_direction()
        attention.v_proj.weight[first] = prompt_direction()
        table = decoder.embed_tokens.weight
        sign = F.normalize(table[keyword] - table[other_word], dim=0)
        attention.o_proj.weight[:, first] = OUTPUT_SCALE * prompt_direction() + LOOKUP_OUTPUT * sign


def common_direction() -> torch.Tensor:
    """Return the direction that all tokens share, those of words and visual tokens."""
    return basis()[COMMON_INDEX]


def prompt_direction() -> torch.Tensor:
    """Return the direction that only the tokens of words in sentences have."""
    return basis()[COMMON_INDEX + 1]


def _attend_back(
    distance: int, frequencies: torch.Tensor, half: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a query and a key, (2 × half,) each, that agree best at a distance in tokens.

    Args:
        distance: The distance.
        frequencies: Frequency of each pair of RoPE, in radians per token, the fastest first.
        half: Number of pairs.
    """
    query = torch.zeros(2 * half)
    key = torch.zeros(2 * half)
    fastest = ((pair, 1.0) for pair in range(FASTEST * half // 64))
    slowest = ((half - 1 - pair, -1.0) for pair in range(SLOWEST * half // 64))
    for pair, sign in (*fastest, *slowest):
        key[pair] = 1.0
        query[pair] = sign * math.cos(distance * float(frequencies[pair]))
        query[pair + half] = -sign * math.sin(distance * float(frequencies[pair]))
    return query, key
