"""Run the numerical tests with the arithmetic of other processors: `python tests/arithmetic.py [NAME …]`.

A processor without wide registers, or with more threads, adds the same numbers in another order, so that sums
differ in their last bits. A test that equates two ways of computing must not notice. Without a name, `plain` is
run, as in CI: the tests of the library, then the notebooks, whose outputs are compared; `all` takes every
setting. NumPy, OpenBLAS, MKL, torch and numba read these variables when they start; on processors other than
x86 they change little.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = [
    *("rope_edu", "doctor/rope_doctor", "book/rope_book"),
    *(f"tests/library/{room}" for room in ("encodings", "attention", "fast", "nn")),
    *(f"tests/doctor/{room}" for room in ("test_precision.py", "config", "clinic", "vectors")),
    "tests/book/check",
    "tests/book/widgets/test_looks.py",
]
VECTOR_INSTRUCTIONS = " ".join(name for name in __cpu_dispatch__ if __cpu_features__[name])
SETTINGS = {
    "plain": {  # no vector instructions beyond those that every x86-64 has, one thread
        "ATEN_CPU_CAPABILITY": "default",
        "MKL_CBWR": "COMPATIBLE",
        "NPY_DISABLE_CPU_FEATURES": VECTOR_INSTRUCTIONS,
        "NUMBA_CPU_FEATURES": "+f16c",  # without it the kernel refuses float16, which a test of its own holds
        "NUMBA_CPU_NAME": "generic",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_CORETYPE": "Nehalem",
    },
    "haswell": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_CBWR": "AVX2",
        "OMP_NUM_THREADS": "2",
        "OPENBLAS_CORETYPE": "Haswell",
    },
    "zen": {"MKL_CBWR": "COMPATIBLE", "OMP_NUM_THREADS": "2", "OPENBLAS_CORETYPE": "Zen"},
    "one thread": {"OMP_NUM_THREADS": "1"},
    "two threads": {"OMP_NUM_THREADS": "2"},
}


def run(name: str) -> int:
    """Run the library's tests and the notebooks with one setting; return how many of the two failed."""
    print(f"== {name}: {' '.join(f'{key}={value!r}' for key, value in SETTINGS[name].items())}", flush=True)
    pytest = [sys.executable, "-m", "pytest", "-q", "-n", "auto"]
    commands = ([*pytest, *LIBRARY], [*pytest, "--dist", "loadfile", "--nbval", "notebooks"])
    # what torch has compiled with other instructions is not for us
    with tempfile.TemporaryDirectory() as compiled:
        environment = os.environ | SETTINGS[name] | {"TORCHINDUCTOR_CACHE_DIR": compiled}
        return sum(subprocess.run(command, cwd=ROOT, env=environment).returncode != 0 for command in commands)


def main(names: list[str]) -> int:
    """Run the settings that are named; return 0 if all tests passed under all of them."""
    names = list(SETTINGS) if names == ["all"] else names or ["plain"]
    if unknown := set(names) - set(SETTINGS):
        sys.exit(f"a setting is one of {', '.join(SETTINGS)} or all; got {', '.join(sorted(unknown))}")
    return min(1, sum(map(run, names)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
