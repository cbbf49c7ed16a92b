"""Run `model` and `decode` on tiny models of every family: python tests/doctor/families.py [FAMILY…]

For the installed transformers, or the one whose folder comes first in PYTHONPATH. Families that rotate and are new
are run too. Differences from what is known are written as Markdown; the exit status is 1 if there are any, else 0.
"""

import importlib
import inspect
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT), str(ROOT / "doctor"), str(ROOT / "book")]

from doctor.probes.test_models_in_field import ARCHITECTURES, DIFFER  # noqa: E402
from doctor.probes.tiny import tiny  # noqa: E402

from rope_doctor.probes import check_decoder, check_model  # noqa: E402

STATUS = {True: 0, False: 1, None: 2}
ROTATES = re.compile(r"apply_rotary|RotaryEmbedding")


def families() -> list[str]:
    """Return the families that are known, and those of this transformers that rotate."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CAUSAL

    new = [name for name, made in CAUSAL.items() if name not in ARCHITECTURES and _rotates(made)]
    return [*(name for name in ARCHITECTURES if name in CAUSAL), *sorted(new)]


def _rotates(made: object) -> bool:
    import transformers

    try:
        file = inspect.getsourcefile(getattr(transformers, made if isinstance(made, str) else made[0]))
        return bool(file and ROTATES.search(Path(file).read_text(encoding="utf-8")))
    except (AttributeError, TypeError, ImportError, OSError):
        return False


def look(name: str) -> list[str]:
    """Return one line for each command whose exit status on this family is not the known one."""
    try:
        model = tiny(name)
    except Exception as error:
        words = f"{type(error).__name__}: {str(error).partition(chr(10))[0][:100]}"
        return [f"- `{name}` could not be made: {words}"] if name in ARCHITECTURES else []
    lines = []
    for command, check, known in (("model", check_model, 0), ("decode", check_decoder, int(name in DIFFER))):
        try:
            report = check(model)
            status, words = STATUS[report.right], str(report)
        except Exception as error:
            status, words = 2, f"{type(error).__name__}: {error}"
        if status != known:
            detail = " ".join(words.split())[:300]
            lines.append(f"- `{command}` on `{name}`: exit status was {known}, is {status}. {detail}")
    return lines


def main(names: list[str]) -> int:
    """Look at these families, or all of them."""
    transformers = importlib.import_module("transformers")
    chosen = names or families()
    lines = [line for name in chosen for line in look(name)]
    print(f"### transformers {transformers.__version__}, {len(chosen)} families\n")
    print("\n".join(lines) if lines else "Nothing has changed.")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
