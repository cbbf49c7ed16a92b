"""Probes of anybody's decoder, which can do all or little, and of models with a table, or with nothing to ask."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from rope_doctor.config import preset  # noqa: E402
from rope_doctor.probes import (  # noqa: E402
    Decoder,
    Specimen,
    check_decoder,
    check_model,
    watching,
    ways,
)
from rope_doctor.probes.bench import Bench  # noqa: E402
from rope_doctor.probes.little import Little  # noqa: E402
from rope_doctor.verdict import HOLDS  # noqa: E402
from rope_edu.encodings.spec import RopeSpec, plain_rope  # noqa: E402


def test_every_check_of_a_right_decoder_that_can_do_all_is_the_same():
    spec = RopeSpec(plain_rope(16).inv_freq, axes=(0, 0, 0, 1, 1, 1, 2, 2), layout="half_split")
    for rotation in (None, spec):
        facts = {"trained": 64, "rule": "dynamic", "narrow": lambda: Specimen().decoder()}
        report = check_decoder(Specimen(rotation).decoder(**facts), length=96, chunk=24)
        assert report.verdict.status == 0
        always = {"packed", "generate"}
        assert set(report.verdict.not_judged) == (always if rotation else {*always, "M-RoPE ids"})


def test_a_function_without_a_cache_or_positions_is_asked_for_what_it_has():
    def last_two(tokens):
        before = np.pad(tokens, ((0, 0), (1, 0)))[:, :-1]
        return np.eye(40)[tokens] + 0.5 * np.eye(40)[before]

    report = check_decoder(last_two)
    assert report.verdict.status == 2
    assert report.of("rows").outcome == "same"
    assert report.of("step by step").words == "the decoder takes no cache"
    assert str(report).startswith(
        "Could not tell whether the decoder is right: 6 of 8 central checks did not run ("
    )


def test_a_decoder_that_looks_ahead_or_that_knows_absolute_places_is_told_so():
    def places(tokens, *, positions=None, mask=None):
        places = np.arange(tokens.shape[1]) if positions is None else positions
        return np.cos(tokens[..., None] * np.arange(1, 41) + np.asarray(places)[..., None])

    report = check_decoder(places)
    assert report.right is None
    assert "right for a table of absolute positions" in report.verdict.not_judged["moved"]
    assert check_decoder(places, relative=True).right is False
    absolute = check_decoder(places, relative=False)
    assert absolute.of("moved").outcome == "as documented"
    assert absolute.right is None  # it takes no cache
    assert check_decoder(lambda tokens, *, positions: np.eye(40)[tokens], relative=False).right is False

    def ahead(tokens, *, mask=None):
        return np.eye(40)[tokens] + np.eye(40)[tokens].mean(axis=1, keepdims=True)

    assert check_decoder(ahead).of("right padding").outcome == "differs"


def test_a_decoder_of_wrong_shape_is_refused():
    with pytest.raises(ValueError, match=r"must return logits \(batch, seq, vocabulary\), got \(1, 2\)"):
        check_decoder(lambda tokens: tokens)
    shrinking = Decoder(lambda tokens: np.ones((1, 1, 40)), 40)
    with pytest.raises(ValueError, match="logits must be"):
        check_decoder(shrinking)


def test_a_model_is_held_against_a_preset_and_against_a_dict():
    llama = preset("Llama 3.1 8B").config | {"hidden_size": 64, "num_attention_heads": 4, "head_dim": 16}
    assert check_model(Little(), llama).faults[0].layers == "all layers"
    assert check_model(Little(), "Llama 3.1 8B").right is False


class Table(torch.nn.Module):
    """Somebody's attention with a stored table of cosines and sines, and no module that gives them."""

    def __init__(self, base, kind):
        super().__init__()
        angles = np.arange(256)[:, None] * plain_rope(16, base).inv_freq
        values = {
            "freqs_cis": np.exp(1j * angles),
            "cos_sin_cache": np.hstack((np.cos(angles), np.sin(angles))),
        }
        if kind == "cos_cached":
            self.register_buffer("cos_cached", torch.tensor(np.tile(np.cos(angles), 2)))
            self.register_buffer("sin_cached", torch.tensor(np.tile(np.sin(angles), 2)))
        else:
            self.register_buffer(kind, torch.tensor(values[kind]))
        self.weight = torch.nn.Parameter(torch.zeros(1))


def outcome(report, name):
    return next(check.outcome for check in report.verdict.checks if check.name == name)


@pytest.mark.parametrize("kind", ["cos_cached", "freqs_cis", "cos_sin_cache"])
def test_tables_of_three_spellings_are_read(kind):
    config = {"head_dim": 16, "rope_theta": 1e4}
    right = check_model(Table(1e4, kind), config)
    assert outcome(right, "frequencies") == HOLDS
    assert right.right is None  # its attention was not seen
    wrong = check_model(Table(1.1e4, kind), config)
    assert wrong.faults[0].pair == 1


@pytest.mark.parametrize(("kind", "base"), [("sliding_attention", 1e4), ("full_attention", 1e6)])
def test_a_table_whose_name_says_no_kind_is_held_against_the_nearest(kind, base):
    rotations = {"sliding_attention": 1e4, "full_attention": 1e6}
    parameters = {name: {"rope_type": "default", "rope_theta": each} for name, each in rotations.items()}
    report = check_model(Table(base, "freqs_cis"), {"head_dim": 16, "rope_parameters": parameters})
    assert outcome(report, "frequencies") == HOLDS
    assert f"freqs_cis ({kind} layers), 256 rows of a table" in str(report)


@pytest.mark.parametrize("left", [0.0, torch.nan])
@pytest.mark.parametrize("kind", ["cos_cached", "freqs_cis", "cos_sin_cache"])
def test_a_table_that_was_never_filled_is_named(kind, left):
    """Found in macwiatrak/Bacformer 33: NaN in tables that no checkpoint holds."""
    emptied = Table(1e4, kind)
    for buffer in emptied.buffers():
        buffer.fill_(left)
    report = check_model(emptied, {"head_dim": 16, "rope_theta": 1e4})
    assert (report.verdict.status, report.faults[0].cause) == (1, "never_filled")
    assert "a table that was never filled" in str(report)


class Uncallable(torch.nn.Module):
    """Somebody's rotary module whose result cannot be read, with its frequencies."""

    def __init__(self, base, dtype):
        super().__init__()
        self.register_buffer("inv_freq", torch.tensor(plain_rope(16, base).inv_freq, dtype=dtype))
        self.weight = torch.nn.Parameter(torch.zeros(1))

    def forward(self, x, positions):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("base", "dtype", "cause"),
    [(5e5, torch.float32, "other_base"), (1e4, torch.bfloat16, "cast"), (1e4, torch.float32, None)],
)
def test_frequencies_of_a_module_that_cannot_be_called_are_read_as_they_are_stored(base, dtype, cause):
    report = check_model(Uncallable(base, dtype), {"head_dim": 16, "rope_theta": 1e4})
    assert [fault.cause for fault in report.faults] == ([cause] if cause else [])
    assert "inv_freq (all layers), stored numbers only: NotImplementedError" in str(report)


def test_frequencies_that_the_config_itself_has_twice_are_no_table_by_feature():
    halves = plain_rope(16, 1e4).inv_freq
    factors = (halves / np.tile(halves[:4], 2)).tolist()  # each of four frequencies twice, as on two axes
    scaling = {"rope_type": "longrope", "short_factor": factors, "long_factor": factors}
    config = {"head_dim": 16, "rope_theta": 1e4, "max_position_embeddings": 512}
    config["rope_scaling"] = scaling | {"original_max_position_embeddings": 512, "attention_factor": 1.0}
    table = Table(1e4, "freqs_cis")
    assert check_model(table, config).right is False
    table.freqs_cis[:] = torch.tensor(np.exp(1j * np.arange(256)[:, None] * np.tile(halves[:4], 2)))
    assert outcome(check_model(table, config), "frequencies") == HOLDS


def test_where_nothing_can_be_probed_the_report_cannot_tell():
    report = check_model(torch.nn.Linear(2, 2), {"head_dim": 16, "rope_theta": 1e4})
    assert report.right is None
    assert str(report).startswith("Could not tell")


def test_central_checks_alone_run_on_the_long_text_too():
    report = check_decoder(Specimen(), length=64, chunk=24)
    lengths = {check.name: check.lengths for check in report.checks if check.lengths}
    assert lengths.pop("reach") == (64,)
    central = {check.name for check in report.checks if check.central}
    assert lengths == {name: (12, 64) if name in central else (12,) for name in lengths}


def test_rounding_is_allowed_for_in_each_token_as_the_report_says():
    decoder = Specimen().decoder()
    short, long = (Bench(decoder, length, 5).bound / decoder.eps for length in (12, 112))
    assert (short, long) == (4096 + 16 * 12, 4096 + 16 * 112)


def test_a_gap_lies_before_the_tokens_whose_logits_it_must_change():
    positions = ways._with_gap(Bench(Specimen().decoder(), 8, 5), 7)
    assert positions.tolist() == [0, 1, 2, 3, 4, 12, 13, 14]


def test_the_image_in_the_text_has_two_rows_of_three():
    rows = ways.with_an_image(3, 12)
    time, height, width = rows[:, :12].tolist()
    assert time == [0, 1, 2, 3, 3, 3, 3, 3, 3, 6, 7, 8]
    assert height == [0, 1, 2, 3, 3, 3, 4, 4, 4, 6, 7, 8]
    assert width == [0, 1, 2, 3, 4, 5, 3, 4, 5, 6, 7, 8]
    assert (np.diff(rows[:, 9:]) == 1).all()


def test_positions_at_which_attention_is_watched_rise_and_stay_below_1024():
    assert watching.POSITIONS[0] == 0
    assert (np.diff(watching.POSITIONS) > 0).all()
    assert 1000 < watching.POSITIONS[-1] < 1024


@pytest.mark.parametrize(("height", "spread"), [(0.0, 1.0), (2.0, 2.0), (0.5, 0.5)])
def test_logits_that_are_all_alike_are_compared_as_they_are(height, spread):
    """Elsewhere differences are in units of their standard deviation."""
    heights = np.array([-height, height])
    made = Decoder(lambda tokens: np.broadcast_to(heights, (*tokens.shape, 2)), 2)
    assert Bench(made, 12, 5).spread == spread
