"""Probes: ask a live torch model, or anybody's decoder, whether its positions are right."""

from rope_edu.probes.decoder import Decoder
from rope_edu.probes.decoding import DecoderReport, check_decoder
from rope_edu.probes.modules import ModelReport, check_model
from rope_edu.probes.specimen import Kept, Specimen

__all__ = [
    "Decoder",
    "DecoderReport",
    "Kept",
    "ModelReport",
    "Specimen",
    "check_decoder",
    "check_model",
]
