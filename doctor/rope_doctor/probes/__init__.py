"""Probes: ask a live torch model, or anybody's decoder, whether its positions are right."""

from rope_doctor.probes.decoder import Decoder
from rope_doctor.probes.decoding import DecoderReport, check_decoder
from rope_doctor.probes.modules import ModelReport, check_model
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
