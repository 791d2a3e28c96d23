"""What the tiny models of all families share: a tokenizer, a chat template, random weights."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedModel, PreTrainedTokenizerFast

CONTEXT = 131072
TEXTS = 4096
"""Entries of a tokenizer, its special tokens excluded."""
PACKAGE = Path(__file__).parents[3] / "atlaskit"
PROSE = (
    PACKAGE.parent / "LICENSE",
    PACKAGE / "agents" / "prompts" / "master.py",
    PACKAGE / "agents" / "prompts" / "worker.py",
    PACKAGE.parent / "atlasworld" / "cast.py",
)
"""What tokenizers are trained on: prompts and subtitles are then split into three letters a token,
much as by a tokenizer of the usual size."""
TEXT = {
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "max_position_embeddings": CONTEXT,
    "rms_norm_eps": 1e-6,
    "initializer_range": 0.2,  # wide, so that answers depend on the prompt
    "tie_word_embeddings": False,
}
"""Settings of a tiny language model."""
LINEAR = {
    "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_num_key_heads": 1, "linear_num_value_heads": 2,
}  # fmt: skip
"""Settings of linear attention."""
ROPE = ("mrope_section", "mrope_interleaved", "partial_rotary_factor")
"""Settings of rotary positions that some families have."""
GREY = {"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]}


def chat_template(start: str, end: str, image: str, thought: str = "", no_thought: str = "", *, video: str = "") -> str:
    """Return a chat template as the families have it, without tools.

    "ROLE" in `start` is the speaker. `thought` begins the turn of a model that thinks, `no_thought`
    where `enable_thinking` is false.
    """
    before, _, after = start.partition("ROLE")
    lines = [
        "{%- for message in messages %}",
        f"{{{{- {before!r} + message['role'] + {after!r} }}}}",
        "{%- if message['content'] is string %}{{- message['content'] }}{%- else %}",
        "{%- for part in message['content'] %}{%- if part['type'] == 'text' %}{{- part['text'] }}",
        f"{{%- elif part['type'] == 'video' %}}{{{{- {video or image!r} }}}}",
        f"{{%- else %}}{{{{- {image!r} }}}}{{%- endif %}}{{%- endfor %}}{{%- endif %}}{{{{- {end!r} }}}}",
        "{%- endfor %}",
        f"{{%- if add_generation_prompt %}}{{{{- {before!r} + 'assistant' + {after!r} }}}}",
    ]
    if thought:
        lines.append(
            f"{{%- if enable_thinking is defined and not enable_thinking %}}{{{{- {no_thought!r} }}}}"
            f"{{%- else %}}{{{{- {thought!r} }}}}{{%- endif %}}"
        )
    return "".join([*lines, "{%- endif %}"])


def trained(paths: Sequence[Path], size: int, special: Sequence[str] = ()) -> Tokenizer:
    """Train a small byte-level BPE on some files, so that a model is always the same."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=list(special), initial_alphabet=alphabet)
    tokenizer.train_from_iterator([path.read_text() for path in paths], trainer)
    return tokenizer


def write_tokenizer(
    folder: Path, special: Sequence[str], template: str, end: str, words: Sequence[str] = (), **settings: Any
) -> PreTrainedTokenizerFast:
    """Train a small byte-level BPE on the license and the prompts.

    The first special token pads, `end` ends an answer; `words` are tokens that are not special.
    """
    tokenizer = trained(PROSE, TEXTS + len(special), special)
    tokenizer.add_tokens(list(words))
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=end,
        pad_token=special[0],
        additional_special_tokens=list(special[1:]),
        clean_up_tokenization_spaces=False,
        model_max_length=CONTEXT,
        **settings,
    )
    fast.chat_template = template
    fast.save_pretrained(folder)
    return fast


def write_json(folder: Path, **files: Mapping[str, Any]) -> None:
    """Write each keyword argument to a file of its name, such as `preprocessor_config`."""
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content, indent=2))


def write_processors(folder: Path, name: str, images: str, videos: str = "", **settings: Any) -> None:
    """Write how images become tokens, and videos where they have a processor of their own."""
    common = {**settings, "processor_class": f"{name}Processor", **GREY}
    write_json(folder, preprocessor_config={**common, "image_processor_type": images})
    if videos:
        write_json(folder, video_preprocessor_config={**common, "video_processor_type": videos})


def squares(patch: int, least: int) -> dict[str, Any]:
    """Return how images of at least so many pixels become a token for each two by two patches."""
    size = {"shortest_edge": least, "longest_edge": 4096 * 4096}
    return {"patch_size": patch, "temporal_patch_size": 2, "merge_size": 2, "size": size}


def text_settings(tokenizer: PreTrainedTokenizerFast, rope_theta: float = 1e6, **more: Any) -> dict[str, Any]:
    """Return the settings of a language model, of which some may say how it tells positions."""
    rope = {"rope_type": "default", "rope_theta": rope_theta}
    rope |= {name: more.pop(name) for name in ROPE if name in more}
    ends = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    return {**TEXT, **ends, "vocab_size": len(tokenizer), "rope_parameters": rope, **more}


def write_weights(
    folder: Path,
    kind: type[PreTrainedModel],
    config: Any,
    tokenizer: PreTrainedTokenizerFast,
    likely: Mapping[str, float],
) -> None:
    """Draw random weights and save them with the configuration.

    The model scores `likely` tokens so many times as strongly, so that its texts and thoughts end.
    """
    torch.manual_seed(0)
    model = kind(config).to(torch.bfloat16)
    with torch.no_grad():
        head = model.get_output_embeddings().weight
        for token, factor in likely.items():
            head[tokenizer.convert_tokens_to_ids(token)] *= factor
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    model.save_pretrained(folder)
