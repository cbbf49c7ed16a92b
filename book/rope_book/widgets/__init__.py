"""Live figures, which are ipywidgets in a kernel and plain scripts in the published page.

The package needs ``pip install anywidget ipywidgets``.
"""

try:
    import anywidget as _anywidget  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"live figures need {error.name}, which is not installed: pip install anywidget ipywidgets"
    ) from error

from .angle_chart import AngleChart
from .angle_error import AngleError
from .base import LiveFigure
from .base_bound import BaseBound
from .bias_matrix import BiasMatrix
from .block_matrix import BlockMatrix
from .cache_steps import CacheSteps
from .clocks import Clocks
from .complex_plane import ComplexPlane
from .config_inspector import ConfigInspector
from .fern import Fern
from .gain_and_turn import GainAndTurn
from .layouts import Layouts
from .length_curve import LengthCurve
from .model_in_the_page import ModelInThePage
from .order_blindness import OrderBlindness
from .patch_scores import PatchScores
from .question import Question
from .ramps import Ramps
from .read_the_damage import ReadTheDamage
from .real_head import RealHead
from .rotate_pair import RotatePair
from .score_distance import ScoreDistance
from .score_under_rules import ScoreUnderRules
from .sentence_attention import SentenceAttention
from .sharpness import Sharpness
from .sinusoid_heatmap import SinusoidHeatmap
from .state_steps import StateSteps
from .stretched_clocks import StretchedClocks
from .train_in_the_page import TrainInThePage
from .trained_turns import TrainedTurns
from .training_curves import TrainingCurves
from .what_turns import WhatTurns
from .which_bug import WhichBug
from .words_on_a_rail import WordsOnARail

__all__ = [
    "AngleChart",
    "AngleError",
    "BaseBound",
    "BiasMatrix",
    "BlockMatrix",
    "CacheSteps",
    "Clocks",
    "ComplexPlane",
    "ConfigInspector",
    "Fern",
    "GainAndTurn",
    "Layouts",
    "LengthCurve",
    "LiveFigure",
    "ModelInThePage",
    "OrderBlindness",
    "PatchScores",
    "Question",
    "Ramps",
    "ReadTheDamage",
    "RealHead",
    "RotatePair",
    "ScoreDistance",
    "ScoreUnderRules",
    "SentenceAttention",
    "Sharpness",
    "SinusoidHeatmap",
    "StateSteps",
    "StretchedClocks",
    "TrainInThePage",
    "TrainedTurns",
    "TrainingCurves",
    "WhatTurns",
    "WhichBug",
    "WordsOnARail",
]
