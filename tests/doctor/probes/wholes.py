"""Whole models of transformers that read pictures and text, tiny, with random weights."""

import numpy as np
import torch
import transformers
from transformers import AutoModelForImageTextToText

from rope_doctor.probes.names import CACHES, argument

from .tiny import WORDS, has, sharpen, small_config

VISION = {
    "depth": 1,
    "num_hidden_layers": 1,
    "hidden_size": 32,
    "embed_dim": 32,
    "intermediate_size": 32,
    "num_heads": 2,
    "num_attention_heads": 2,
    "patch_size": 4,
    "image_size": 16,
    "out_hidden_size": 64,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
    "deepstack_visual_indexes": [0],
    "fullatt_block_indexes": [0],
    "window_size": 16,
    "mm_tokens_per_image": 4,
}
INTERLEAVED = ("qwen3_vl", "qwen3_vl_moe")  # their sections take turns
SECTIONS = {  # of the pairs, for time, height and width
    **{name: [2, 3, 3] for name in ("qwen2_vl", "qwen2_5_vl", "paddleocr_vl", "glm4v", "glm_ocr")},
    **{name: [4, 2, 2] for name in INTERLEAVED},
    "glm4v_moe": [1, 1, 2],
}
GRID = (
    1,
    4,
    6,
)  # patches of the picture in `behind_a_picture`, in time, height and width: six tokens of words


def whole(model_type, *, width=torch.float32):
    """A model of several parts, whose text part is `tiny`'s and whose vision part has one layer."""
    transformers.logging.set_verbosity_error()
    kind = transformers.CONFIG_MAPPING[model_type]
    usual = kind()
    parts = {name: getattr(usual, name, None) for name in kind.sub_configs}
    given = {name: part.to_dict() for name, part in parts.items() if part is not None}
    changes = {"vocab_size": WORDS}
    if model_type in SECTIONS:
        partial = {"partial_rotary_factor": 0.5} if model_type == "glm4v_moe" else {}
        sections = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": SECTIONS[model_type]}
        changes["rope_parameters"] = sections | partial | {"mrope_interleaved": model_type in INTERLEAVED}
    given["text_config"] = small_config(parts["text_config"].model_type, **changes).to_dict()
    if parts.get("vision_config") is not None:
        seen = type(parts["vision_config"])
        wide = {"hidden_size": 64} if model_type == "qwen2_vl" else {}  # its name for the width of text
        small = {name: value for name, value in (VISION | wide).items() if has(seen(), name)}
        given["vision_config"] = seen(**small).to_dict()
    names = [name for name in usual.to_dict() if name.endswith(("_token_id", "_token_index"))]
    given |= {name: 3 + number for number, name in enumerate(sorted(names)) if name != "pad_token_id"}
    torch.manual_seed(0)
    model = AutoModelForImageTextToText.from_config(kind(**given), dtype=width).eval()
    sharpen(model)
    return model


def of_a_picture(config):
    """Tokens that hold the place of a picture, with what tells where it begins and ends."""
    patches = [config.image_token_id] * (GRID[0] * GRID[1] * GRID[2] // 4)
    names = ("vision_start_token_id", "image_start_token_id"), ("vision_end_token_id", "image_end_token_id")
    start, end = (next(getattr(config, name) for name in each if has(config, name)) for each in names)
    return np.array([[start, *patches, end]])


def behind_a_picture(model):
    """A decoder whose texts all follow one picture, which it reads with the first tokens."""
    vision = model.config.vision_config
    features = 3 * vision.temporal_patch_size * vision.patch_size**2
    torch.manual_seed(1)
    pixels = torch.randn(GRID[0] * GRID[1] * GRID[2], features)
    front = of_a_picture(model.config)
    name = argument(model, CACHES)

    def decoder(tokens, *, mask=None, cache=None):
        given = {"use_cache": True, name: cache}
        first = cache is None
        before = np.repeat(front, len(tokens), axis=0)
        if first:
            tokens = np.concatenate((before, tokens), axis=1)
            given |= {
                "pixel_values": pixels.repeat(len(tokens), 1),
                "image_grid_thw": torch.tensor([GRID] * len(tokens)),
                "mm_token_type_ids": torch.tensor(tokens == model.config.image_token_id).int(),
            }
        if mask is not None:
            given["attention_mask"] = torch.tensor(np.concatenate((before * 0 + 1, mask), axis=1))
        with torch.no_grad():
            out = model(torch.tensor(tokens), **given)
        logits = out.logits[:, front.shape[1] :] if first else out.logits
        return logits.double().numpy(), getattr(out, name)

    return decoder
