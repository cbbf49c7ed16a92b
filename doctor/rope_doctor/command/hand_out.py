r"""rope-doctor examples [DIR]: list commands to try out, and write the small files that they need.

If DIR is given, the files (10 kB in all) are written there: the config of Llama 3.1 8B and two GGUFs; a small
checkpoint with random weights and two conversions of it; an interrupted download; Python files with a right and a
wrong rotation and decoder (which require only NumPy) and model (which requires torch); and adapters for ONNX
Runtime, JAX and MLX.
"""

import argparse
from pathlib import Path

FOLDER = Path(__file__).with_name("examples")
TRIES = (  # (command line, exit status, subject)
    ("read config.json model.gguf", 0, "Llama 3.1 8B, and the GGUF made from it"),
    ("read cut.gguf", 2, "an interrupted download"),
    ("compare config.json model.gguf", 0, "the conversion kept the rotation"),
    ("compare config.json lost.gguf", 1, "another conversion lost the rule llama3"),
    ("compare config.json cut.gguf", 2, ""),
    ("weights little little.gguf", 0, "the rows of q and k were permuted, as llama.cpp expects them"),
    ("weights little forgotten.gguf", 1, "those of k were not"),
    ("weights little cut.gguf", 2, ""),
    ("diagnose rotation:right --config little", 0, ""),
    ("diagnose rotation:wrong --config little", 1, "it pairs neighbours instead of halves"),
    ("diagnose rotation:typo --config little", 2, "there is no such function"),
    ("vectors rotation:right", 0, ""),
    ("vectors rotation:wrong", 1, ""),
    ("vectors rotation:typo", 2, ""),
    ("decode decoder:right", 0, ""),
    ("decode decoder:wrong", 1, "every piece of a text is counted from 0, regardless of the cache"),
    ("decode decoder:typo", 2, ""),
    ("model live:right --config little/config.json", 0, "needs torch, as the next two do"),
    ("model live:wrong --config little/config.json", 1, "its frequencies were never filled after loading"),
    ("model live:still --config little/config.json", 2, "it has nothing to probe"),
)


def contents() -> dict[str, bytes]:
    """Return {relative path: contents} for all files."""
    paths = [path for path in sorted(FOLDER.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    return {path.relative_to(FOLDER).as_posix(): path.read_bytes() for path in paths}


def write(folder: str | Path) -> list[str]:
    """Write the files to a folder and return their names; ValueError if a name is taken by a different file."""
    folder, files = Path(folder), contents()
    for name, content in files.items():
        path = folder / name
        if path.exists() and (not path.is_file() or path.read_bytes() != content):
            raise ValueError(f"{path} exists already: name another folder for the examples")
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return list(files)


def run(chosen: argparse.Namespace) -> tuple[int, object, str]:
    """Write the files if a folder is given, and list the commands to try."""
    folder: str | None = chosen.folder
    names = list(contents()) if folder is None else write(folder)
    first = [f"{len(names)} files were written to {folder}."]
    if folder is None:
        first = ["`rope-doctor examples DIR` writes these files:", *(f"  {name}" for name in names)]
    width = max(len(line) for line, *_ in TRIES)
    words = [f"  rope-doctor {line:{width}}  # {status} {about}".rstrip() for line, status, about in TRIES]
    head = "Try these lines there. The comments state the exit status and the subject."
    tries = [
        {"line": f"rope-doctor {line}", "status": status, "about": about} for line, status, about in TRIES
    ]
    return 0, {"folder": folder, "files": names, "try": tries}, "\n".join([*first, head, *words])
