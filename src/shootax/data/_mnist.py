"""Read MNIST, and data sets in its format, from your files."""

import functools
import gzip
import hashlib
import os
import pathlib
import zipfile
import zlib
from typing import NamedTuple

import numpy as np

from shootax import FileFormatError

VARIABLE = "SHOOTAX_DATA"

CHECKSUMS = {
    "train_images": "741c988805d008ac6e4c904b69001ba184c24b2c540a4ef403f4c71b676cf757",
    "train_labels": "1feba77c54802fa5339a11837ea4b2866434b83314ec45192930f1df69120c13",
    "test_images": "6d87418db22cc8025d05968bec9bd5c3932904b23485740db143a061a2c9d161",
    "test_labels": "ddeff807876a9661a1110d45c266c86239a3a1b7d37da0c3716a7a683c852ff5",
}
"""The SHA-256 of the bytes of the four arrays of MNIST, independent of the file format."""

IDX = {
    "train_images": "train-images-idx3-ubyte",
    "train_labels": "train-labels-idx1-ubyte",
    "test_images": "t10k-images-idx3-ubyte",
    "test_labels": "t10k-labels-idx1-ubyte",
}
KERAS = {
    "train_images": "x_train",
    "train_labels": "y_train",
    "test_images": "x_test",
    "test_labels": "y_test",
}
LARGEST = 1 << 30
"""The largest number of bytes that are read of an array. Files of this format have fewer."""


class LabelledImages(NamedTuple):
    """Images with integer class labels.

    **Arguments:**

    - `images`: the images as bytes, `(n, height, width)`.
    - `labels`: the class indices as bytes, `(n,)`.

    !!! example

        ```python
        import numpy as np
        from shootax.data import LabelledImages

        blank = LabelledImages(np.zeros((5, 28, 28), np.uint8), np.zeros(5, np.uint8))
        print(blank.images.shape)  # (5, 28, 28)
        ```
    """

    images: np.ndarray
    labels: np.ndarray


def mnist(
    folder: str | os.PathLike | None = None, *, verify: bool = True
) -> tuple[LabelledImages, LabelledImages]:
    """Read the 60,000 training images and the 10,000 test images of MNIST. Nothing is downloaded.

    MNIST is by Yann LeCun and Corinna Cortes, CC BY-SA 3.0.

    **Arguments:**

    - `folder`: the folder of the four files `train-images-idx3-ubyte`, `train-labels-idx1-ubyte`,
        `t10k-images-idx3-ubyte` and `t10k-labels-idx1-ubyte`, plain or with `.gz`, or of `mnist.npz`. Or
        the path of such an `.npz` file, with arrays named `train_images`, … or, as in Keras, `x_train`,
        …. The default is the path in the environment variable `SHOOTAX_DATA`.
    - `verify`: whether to check by checksums that the contents are MNIST. Use `verify=False` for other
        data in the same format, such as Fashion-MNIST.

    **Raises:** `FileNotFoundError` if a file is missing, and [`shootax.FileFormatError`][] if a file is
    damaged or contains other data.

    !!! example

        ```python
        import tempfile

        import numpy as np
        from shootax.data import mnist

        with tempfile.TemporaryDirectory() as folder:
            images, labels = np.zeros((5, 28, 28), np.uint8), np.zeros(5, np.uint8)
            np.savez(f"{folder}/mnist.npz", train_images=images, train_labels=labels,
                     test_images=images, test_labels=labels)
            train, test = mnist(folder, verify=False)
        print(train.images.shape)  # (5, 28, 28)
        ```
    """
    if folder is None:
        folder = os.environ.get(VARIABLE)
    if not folder:
        raise FileNotFoundError(
            "MNIST is not part of shootax, and nothing is downloaded. Get the four IDX files or an "
            f"mnist.npz, and give their folder by mnist(folder), --data, or {VARIABLE}."
        )
    return _read(str(pathlib.Path(folder).expanduser()), bool(verify))


@functools.lru_cache(maxsize=1)
def _read(folder: str, verify: bool) -> tuple[LabelledImages, LabelledImages]:
    path = pathlib.Path(folder)
    arrays = {name: _checked(name, array, path) for name, array in _arrays(path).items()}
    for kind in ("train", "test"):
        images, labels = arrays[f"{kind}_images"], arrays[f"{kind}_labels"]
        if len(images) != len(labels):
            raise FileFormatError(
                f"{path} has {len(images)} {kind} images but {len(labels)} labels. Expected equal "
                "numbers."
            )
    if verify:
        for name, array in arrays.items():
            if hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest() != CHECKSUMS[name]:
                raise FileFormatError(
                    f"The {name.replace('_', ' ')} in {path} are not those of MNIST: the checksum "
                    "differs. Use mnist(folder, verify=False) for other data in this format."
                )
    train, test = (
        LabelledImages(arrays[f"{kind}_images"], arrays[f"{kind}_labels"])
        for kind in ("train", "test")
    )
    return train, test


def _arrays(path: pathlib.Path) -> dict[str, np.ndarray]:
    packed = path / "mnist.npz" if path.is_dir() else path
    if packed.is_file():
        return _from_npz(packed)
    found = {name: _idx_file(path, stem) for name, stem in IDX.items()}
    missing = [IDX[name] for name, file in found.items() if file is None]
    if missing:
        raise FileNotFoundError(
            f"{path} has no mnist.npz and no {', '.join(missing)} (plain or .gz). Give the folder that "
            "contains them."
        )
    return {name: _from_idx(file) for name, file in found.items() if file is not None}


def _idx_file(folder: pathlib.Path, stem: str) -> pathlib.Path | None:
    names = (stem, stem.replace("-idx", ".idx"))
    candidates = [folder / f"{name}{end}" for name in names for end in ("", ".gz")]
    return next((path for path in candidates if path.is_file()), None)


def _from_idx(path: pathlib.Path) -> np.ndarray:
    """An IDX file: two zero bytes, 8 for bytes, the number of axes, their lengths, the contents."""
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rb") as file:
            start = file.read(4)
            if len(start) < 4 or start[:3] != b"\x00\x00\x08" or not 1 <= start[3] <= 3:
                raise FileFormatError(f"{path} is not an IDX file of bytes.")
            shape = tuple(np.frombuffer(file.read(4 * start[3]), ">u4").tolist())
            number = int(np.prod(shape, dtype=np.int64)) if len(shape) == start[3] else -1
            content = file.read(number + 1) if 0 <= number <= LARGEST else b""
    except (OSError, EOFError, zlib.error, ValueError) as error:
        if isinstance(error, FileFormatError | FileNotFoundError | PermissionError):
            raise
        raise FileFormatError(f"{path} is damaged: {error}.") from error
    if len(content) != number:
        raise FileFormatError(f"{path} is damaged: its length does not match its header.")
    return np.frombuffer(content, np.uint8).reshape(shape)


def _from_npz(path: pathlib.Path) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as file:
            names = KERAS if "x_train" in file else {name: name for name in IDX}
            return {name: file[own] for name, own in names.items()}
    except KeyError as error:
        raise FileFormatError(
            f"{path} must have the arrays {', '.join(IDX)}, or {', '.join(KERAS.values())}: {error}."
        ) from error
    except (OSError, EOFError, ValueError, AttributeError, zlib.error, zipfile.BadZipFile) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        raise FileFormatError(f"{path} is damaged, or not an .npz file: {error}.") from error


def _checked(name: str, array: np.ndarray, path: pathlib.Path) -> np.ndarray:
    axes = 3 if name.endswith("images") else 1
    if array.dtype != np.uint8 or array.ndim != axes or len(array) == 0:
        raise FileFormatError(
            f"The {name.replace('_', ' ')} in {path} must be bytes with {axes} axes, got {array.dtype} "
            f"of shape {array.shape}."
        )
    return array
