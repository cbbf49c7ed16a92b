r"""JSON test vectors for any rotary position embedding, and a runner for Python functions.

    rotate.json       x, positions -> rotated x: layouts, widths, tails, bases, attention factors, positions to 2²⁰
    frequencies.json  a rule and its parameters -> inv_freq and attention factor
    configs.json      a model's config.json -> inv_freq and attention factor, or the field to reject
    batch.json        batches whose rows have different positions: padded, packed, with gaps
    axes.json         multi-coordinate positions (M-RoPE), with the sections in three orders
    shift.json        rotated keys and a number of tokens -> the keys shifted by it, as in a cache
    scale.json        YaRN's two mscales -> the factors on cos and sin and on the softmax, for each implementation
    schema.json       the schema of these files (JSON Schema)

Every case has a name, a source, a tolerance, and a list of the mistakes that it detects. The numbers come from an
independent implementation (plain loops, `book/makers/vector_reference.py`). `rope-doctor vectors module:function`
runs the cases.
"""

from rope_doctor.vectors.runner import FILES, Result, load, run

__all__ = ["FILES", "Result", "load", "run"]
