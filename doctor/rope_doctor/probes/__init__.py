"""Check whether the positions of a live torch model, a decoder or a server are right."""

from rope_doctor.probes.decoder import Decoder
from rope_doctor.probes.decoding import DecoderReport, check_decoder
from rope_doctor.probes.endpoint import Endpoint, over_http
from rope_doctor.probes.model_report import ModelReport, check_model
from rope_doctor.probes.reaching import Reach, reach_of, token_losses
from rope_doctor.probes.served import ServerReport, ask_server
from rope_doctor.probes.specimen import Kept, Specimen

__all__ = [
    "Decoder",
    "DecoderReport",
    "Endpoint",
    "Kept",
    "ModelReport",
    "Reach",
    "ServerReport",
    "Specimen",
    "ask_server",
    "check_decoder",
    "check_model",
    "over_http",
    "reach_of",
    "token_losses",
]
