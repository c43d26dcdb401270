"""Install the wheel and the sdist in `dist/` into a bare environment, and check them there."""

import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile

SMOKE = pathlib.Path(__file__).with_name("smoke.py")
EXTRAS = ("cli", "export", "plots", "sklearn", "tables")
LARGEST = 2_000_000  # bytes


def check_contents(wheel: pathlib.Path, sdist: pathlib.Path) -> None:
    """Check that the wheel contains only the package, and the sdist no results, pages or large files."""
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    if tops - {"shootax"} - {top for top in tops if top.endswith(".dist-info")}:
        sys.exit(f"{wheel} holds more than the package: {sorted(tops)}")
    for wanted in ("shootax/py.typed", "shootax/data/mnist_threes.npz"):
        if wanted not in names:
            sys.exit(f"{wheel} lacks {wanted}.")
    with tarfile.open(sdist) as archive:
        inside = {name.split("/")[1] for name in archive.getnames() if "/" in name}
    if inside & {"docs", ".venv", "demo", ".git"}:
        sys.exit(f"{sdist} holds what it should not: {sorted(inside)}")
    for file in (wheel, sdist):
        if file.stat().st_size > LARGEST:
            sys.exit(f"{file} has {file.stat().st_size} bytes, more than {LARGEST}.")
        print(f"{file.name}: {file.stat().st_size / 1000:.0f} kB")


def main(dist: pathlib.Path) -> None:
    """Check the only wheel and the only sdist in a folder."""
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    check_contents(wheel, sdist)
    with tempfile.TemporaryDirectory() as folder:
        venv.create(pathlib.Path(folder) / "venv", with_pip=True)
        clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        scripts = "Scripts" if sys.platform == "win32" else "bin"
        python = str(pathlib.Path(folder) / "venv" / scripts / "python")

        def run(*arguments: str) -> None:
            subprocess.run([python, *arguments], cwd=folder, env=clean, check=True)

        pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        run(*pip, str(wheel))
        run(str(SMOKE))
        run(*pip, f"{wheel}[{','.join(EXTRAS)}]")
        run(str(SMOKE), *EXTRAS)
        run(*pip, "--force-reinstall", "--no-deps", str(sdist))
        run(str(SMOKE))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve())
