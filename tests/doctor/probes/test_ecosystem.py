"""Names of the ecosystem: the cache in each version of transformers, wrappers, devices, and a name nobody knows."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from rope_doctor.probes import check_decoder  # noqa: E402
from rope_doctor.probes.causal_model import of_transformers  # noqa: E402
from rope_doctor.probes.names import CACHES, argument, unwrapped  # noqa: E402

from .tiny import tiny  # noqa: E402

LONG = {"length": 64, "chunk": 24}
OF_THE_CACHE = ["step by step", "chunks", "step by step, with positions", "rows at length 1", "cropped cache"]


def test_the_cache_has_one_of_the_two_names_and_its_checks_run():
    """transformers 5.24 calls `past_key_values` `cache`; mlx-lm 1109 and mlx-vlm 1983 were silent there."""
    model = tiny("llama")
    minor = tuple(int(part) for part in transformers.__version__.split(".")[:2])
    assert argument(model, CACHES) == ("cache" if minor >= (5, 24) else "past_key_values")
    report = check_decoder(model, **LONG)
    assert report.verdict.status == 0
    assert {report.of(name).outcome for name in (*OF_THE_CACHE, "generate", "bfloat16")} == {"same"}


class Peft(torch.nn.Module):
    """A stand-in for a model of PEFT: its forward names nothing, and the model is at base_model.model."""

    def __init__(self, model):
        super().__init__()
        self.base_model = torch.nn.Module()
        self.base_model.model = model
        self.config = model.config

    def forward(self, *args, **options):
        return self.base_model.model(*args, **options)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "wrap", [Peft, torch.nn.DataParallel, lambda model: torch.compile(model, backend="eager", dynamic=True)]
)
def test_a_wrapped_model_keeps_the_checks_of_its_cache(wrap):
    model = tiny("llama")
    wrapped = wrap(model)
    assert unwrapped(wrapped) is model
    report = check_decoder(wrapped, length=24, chunk=9)
    assert report.verdict.status == 0, str(report)
    assert {report.of(name).outcome for name in OF_THE_CACHE} == {"same"}


def test_a_wrapped_model_is_called_through_its_wrapper():
    calls = []

    class Counted(Peft):
        def forward(self, *args, **options):
            calls.append(options)
            return super().forward(*args, **options)

    of_transformers(Counted(tiny("llama")))(np.array([[20, 21]]))
    assert len(calls) == 1


def test_a_cache_under_a_name_that_nobody_knows_is_not_judged():
    class Memory(type(tiny("llama"))):
        def forward(self, input_ids, attention_mask=None, position_ids=None, memory=None, use_cache=None):
            return super().forward(input_ids, attention_mask=attention_mask, position_ids=position_ids)

    model = tiny("llama")
    model.__class__ = Memory
    report = check_decoder(model, **LONG)
    assert report.verdict.status == 2
    reason = "the decoder takes no cache under a known name (cache, past_key_values)"
    assert report.verdict.not_judged["step by step"] == report.verdict.not_judged["chunks"] == reason
    assert "The decoder gives" not in str(report)
    assert "All" not in str(report).splitlines()[0]


def test_tokens_positions_and_mask_are_on_the_models_device():
    """A model on a GPU failed: its tokens were on no device. `meta` is a device that every machine has."""
    model, devices = tiny("llama").to("meta"), []

    def forward(input_ids, attention_mask=None, position_ids=None, **options):
        devices.extend(each.device.type for each in (input_ids, attention_mask, position_ids))
        return transformers.modeling_outputs.CausalLMOutputWithPast(logits=torch.zeros(1, 2, 96))

    made = of_transformers(model)
    model.forward = forward
    made(np.array([[20, 21]]), np.array([[0, 1]]), np.array([[1, 1]]))
    assert devices == ["meta"] * 3


def test_a_learned_table_is_judged_as_a_table():
    """GPT-2's positions are absolute: a moved text must change, and padding is counted unless ids are passed."""
    model = tiny("gpt2", n_positions=128)
    report = check_decoder(model)
    assert report.verdict.status == 0, str(report)
    assert (
        report.of("moved").outcome == report.of("left padding, without positions").outcome == "as documented"
    )
    assert report.of("reach").lengths == (96,)  # its table ends at 128
    ignored = model.transformer.wpe.forward
    model.transformer.wpe.forward = lambda ids: ignored(ids * 0)
    wrong = check_decoder(model)
    assert wrong.verdict.status == 1
    assert wrong.of("moved").outcome == "differs"
