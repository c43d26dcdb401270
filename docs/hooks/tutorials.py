"""Runs the tutorials and the moving picture at build time, and adds what they make to the site.

Results are kept in `build/docs-cache` under a hash of the script, of the package and of the runner,
so that only what changed runs again.
"""

import concurrent.futures
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

DOCS = pathlib.Path(__file__).parents[1]
ROOT = DOCS.parent
CACHE = ROOT / "build" / "docs-cache"
RUNNER = DOCS / "hooks" / "run_tutorial.py"
LONGEST = 900
"""Seconds after which a script is taken to hang."""


def on_files(files, config):
    """Adds pages, pictures and notebooks of all tutorials, and the animation."""
    scripts = [*sorted((DOCS / "tutorials").glob("*.py")), DOCS / "assets" / "animation.py"]
    shared = _package_hash()
    workers = int(os.environ.get("DOCS_JOBS", max(1, (os.cpu_count() or 2) // 2)))
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        folders = list(pool.map(lambda script: _made(script, shared), scripts))
    for script, folder in zip(scripts, folders, strict=True):
        place = script.parent.relative_to(DOCS).as_posix()
        for path in sorted(folder.iterdir()):
            _add(files, config, f"{place}/{path.name}", path)
    return files


def _add(files, config, uri: str, path: pathlib.Path) -> None:
    old = files.get_file_from_path(uri)
    if old is not None:
        files.remove(old)
    if path.suffix == ".md":
        files.append(File.generated(config, uri, content=path.read_text()))
    else:
        files.append(File.generated(config, uri, abs_src_path=str(path)))


def _package_hash() -> str:
    digest = hashlib.sha256()
    package = sorted((ROOT / "src").rglob("*.py"))
    for path in (*package, RUNNER, RUNNER.with_name("percent.py")):
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _made(script: pathlib.Path, shared: str) -> pathlib.Path:
    """The folder with what a script made, now or before."""
    digest = hashlib.sha256(shared.encode() + script.read_bytes()).hexdigest()[:16]
    folder = CACHE / f"{script.stem}-{digest}"
    if folder.is_dir():
        return folder
    CACHE.mkdir(parents=True, exist_ok=True)
    tutorial = script.parent.name == "tutorials"
    command = [sys.executable, *([RUNNER] if tutorial else []), script]
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "MPLBACKEND": "Agg"}
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        made = pathlib.Path(scratch, "made")
        made.mkdir()
        try:
            run = subprocess.run(
                [str(part) for part in (*command, made)],
                cwd=scratch,
                env=environment,
                capture_output=True,
                text=True,
                timeout=LONGEST,
            )
        except subprocess.TimeoutExpired:
            raise PluginError(f"{script.name} did not end within {LONGEST} s.") from None
        if run.returncode:
            raise PluginError(f"{script.name} failed:\n{run.stderr}")
        for old in CACHE.glob(f"{script.stem}-*"):
            shutil.rmtree(old, ignore_errors=True)
        made.rename(folder)
    return folder
