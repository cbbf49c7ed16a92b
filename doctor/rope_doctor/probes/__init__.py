"""Probes: check whether the positions of a live torch model or a decoder are right."""

from rope_doctor.probes.decoder import Decoder
from rope_doctor.probes.decoding import DecoderReport, check_decoder
from rope_doctor.probes.model_report import ModelReport, check_model
from rope_doctor.probes.specimen import Kept, Specimen

__all__ = [
    "Decoder",
    "DecoderReport",
    "Kept",
    "ModelReport",
    "Specimen",
    "check_decoder",
    "check_model",
]
