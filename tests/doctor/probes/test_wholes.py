"""`model` and `decode` on whole models of several parts, tiny: their texts, and texts behind a picture."""

import pytest

pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from rope_doctor.probes import check_decoder, check_model  # noqa: E402

from .wholes import SECTIONS, behind_a_picture, whole  # noqa: E402

WHOLES = [
    "gemma3",
    "gemma4",
    "glm4v",
    "glm4v_moe",
    "glm_ocr",
    "llama4",
    "llava",
    "mistral3",
    "mllama",
    "paddleocr_vl",
    "qwen2_5_vl",
    "qwen2_vl",
    "qwen3_5",
    "qwen3_5_moe",
    "qwen3_vl",
    "qwen3_vl_moe",
]
PICTURED = ["glm4v", "glm_ocr", "qwen2_5_vl", "qwen2_vl", "qwen3_vl"]


@pytest.mark.sampled
@pytest.mark.parametrize("name", WHOLES)
def test_no_false_alarm_on_the_text_of_a_whole(name):
    model = whole(name)
    if (
        name == "llama4" and transformers.__version__ == "5.24.0"
    ):  # its output has no picture, and it asks for one
        with pytest.raises(ValueError, match="no attribute 'image_outputs'"):
            check_decoder(model)
        return
    modules = check_model(model)
    assert modules.right is True, str(modules)
    report = check_decoder(model, length=64, chunk=24)
    assert report.verdict.status == 0, str(report)
    assert report.of("step by step").outcome == "same"
    assert (report.of("M-RoPE ids").outcome == "same") is (name in SECTIONS)


@pytest.mark.parametrize("name", PICTURED)
def test_no_false_alarm_on_a_text_behind_a_picture(name):
    model = whole(name)
    report = check_decoder(behind_a_picture(model), length=64, chunk=24)
    assert int(model.model.rope_deltas[0, 0]) == -3  # six tokens hold a picture of three columns
    assert report.right is None, str(report)  # it takes no positions, so two central checks cannot run
    assert {name for name in report.verdict.not_judged if report.of(name).central} == {
        "left padding",
        "moved",
    }
    for check in (
        "step by step",
        "chunks",
        "right padding",
        "left padding, without positions",
        "rows",
        "state",
    ):
        assert report.of(check).outcome == "same"
