"""Compare default estimators with those of scikit-learn, on tables that come with packages.

    python benchmarks/tabular.py --json benchmarks/tabular.json
    python benchmarks/tabular.py --markdown benchmarks/tabular.json

Every model uses the same splits: five folds, repeated, and stratified if there are classes. Ours has one
setting, its defaults. Of scikit-learn's networks, the best of a grid is reported, chosen by the same
scores that the table shows, which favours them. On the large tables, with more than 2,000 rows, there is
only one network, with 100 hidden units and scikit-learn's default penalty.
"""

import argparse
import json
import pathlib
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.model_selection import GroupKFold, RepeatedKFold, RepeatedStratifiedKFold
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import shootax as sx
from shootax.sklearn import ShootingClassifier, ShootingRegressor, tables


def _numbers(frame: Any, target: str) -> tuple[np.ndarray, np.ndarray]:
    """A data frame as numbers, with categories and dates encoded as by `shootax fit`."""
    frame = frame.dropna()
    inputs = frame.drop(columns=[target])
    return tables.encode(inputs, tables.learn(inputs))[0], frame[target].to_numpy(np.float64)


def _cars() -> tuple[np.ndarray, np.ndarray]:
    from vega_datasets import local_data  # pyright: ignore[reportMissingImports]

    return _numbers(local_data.cars().drop(columns=["Name"]), "Miles_per_Gallon")


def _sf_temps() -> tuple[np.ndarray, np.ndarray]:
    from vega_datasets import local_data  # pyright: ignore[reportMissingImports]

    return _numbers(local_data.sf_temps(), "temp")


def _affairs() -> tuple[np.ndarray, np.ndarray]:
    import statsmodels.api as sm  # pyright: ignore[reportMissingImports]

    return _numbers(sm.datasets.fair.load_pandas().data, "affairs")


def _randhie() -> tuple[np.ndarray, np.ndarray]:
    import statsmodels.api as sm  # pyright: ignore[reportMissingImports]

    return _numbers(sm.datasets.randhie.load_pandas().data, "mdvis")


def _of_sklearn(name: str) -> Callable[[], Any]:
    return lambda: getattr(datasets, f"load_{name}")(return_X_y=True)


TABLES: dict[str, tuple[Callable[[], Any], bool]] = {
    "diabetes": (_of_sklearn("diabetes"), False),
    "breast cancer": (_of_sklearn("breast_cancer"), True),
    "wine": (_of_sklearn("wine"), True),
    "digits": (_of_sklearn("digits"), True),
    "cars": (_cars, False),
    "affairs": (_affairs, False),
    "sf-temps": (_sf_temps, False),
    "randhie": (_randhie, False),
    "randhie, new inputs": (_randhie, False),
}
LARGE = ("affairs", "sf-temps", "randhie", "randhie, new inputs")
GROUPED = ("randhie, new inputs",)
"""Tables whose equal inputs are all in one fold. `randhie` has each input about seven times."""
FOLDS = 5
HIDDEN, ALPHAS = ((25,), (50,), (100,)), (1e-4, 1e-2, 1.0)


def candidates(classes: bool, large: bool) -> dict[str, Any]:
    """The models by name, each a function of a seed."""
    ours, boosting = (
        (ShootingClassifier, HistGradientBoostingClassifier)
        if classes
        else (ShootingRegressor, HistGradientBoostingRegressor)
    )
    models: dict[str, Any] = {
        "shootax": lambda seed: ours(random_state=seed),
        "gradient boosting": lambda seed: boosting(random_state=seed),
        "linear": lambda seed: make_pipeline(
            StandardScaler(),
            LogisticRegressionCV(max_iter=2000) if classes else RidgeCV(np.logspace(-3, 4, 15)),
        ),
    }
    for hidden in HIDDEN[-1:] if large else HIDDEN:
        for alpha in ALPHAS[:1] if large else ALPHAS:
            models[f"MLP {hidden} α={alpha:g}"] = lambda seed, h=hidden, a=alpha: _mlp(
                classes, h, a, seed
            )
    return models


def _mlp(classes: bool, hidden: tuple[int, ...], alpha: float, seed: int) -> Any:
    """A network of scikit-learn with the same scaling that our estimators do internally."""
    options: dict[str, Any] = {
        "hidden_layer_sizes": hidden,
        "alpha": alpha,
        "max_iter": 1000,
        "random_state": seed,
    }
    if classes:
        return make_pipeline(StandardScaler(), MLPClassifier(**options))
    network = make_pipeline(StandardScaler(), MLPRegressor(**options))
    return TransformedTargetRegressor(network, transformer=StandardScaler())


def parameters(model: Any) -> int | None:
    """The number of trained parameters, for models that have any."""
    if isinstance(model, ShootingRegressor | ShootingClassifier):
        return model.n_parameters_
    if isinstance(model, TransformedTargetRegressor):
        model = model.regressor_
    if isinstance(model, HistGradientBoostingClassifier | HistGradientBoostingRegressor):
        return None
    last = model[-1]
    if isinstance(last, MLPClassifier | MLPRegressor):
        return sum(a.size for a in (*last.coefs_, *last.intercepts_))
    return np.size(last.coef_) + np.size(last.intercept_)


def measure(name: str, model_name: str, make: Any, repeats: int) -> dict[str, Any]:
    """Scores and times of one model on all splits of one table."""
    load, classes = TABLES[name]
    x, y = load()
    kind = RepeatedStratifiedKFold if classes else RepeatedKFold
    splits = kind(n_splits=FOLDS, n_repeats=repeats, random_state=0).split(x, y)
    if name in GROUPED:
        groups = np.unique(x, axis=0, return_inverse=True)[1].reshape(-1)
        splits = GroupKFold(FOLDS).split(x, y, groups)
    scores, seconds, size = [], [], None
    for seed, (train, test) in enumerate(splits):
        began, model = time.process_time(), make(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(x[train], y[train])
        seconds.append(time.process_time() - began)
        scores.append(float(model.score(x[test], y[test])))
        size = parameters(model)
    return {
        "table": name,
        "rows": len(x),
        "model": model_name,
        "scores": scores,
        "score": float(np.mean(scores)),
        "standard_error": float(np.std(scores, ddof=1) / len(scores) ** 0.5),
        "parameters": size,
        "seconds_first": seconds[0],
        "seconds_median": float(np.median(seconds)),
        "version": sx.__version__,
    }


def markdown(results: list[dict[str, Any]]) -> str:
    """A row for each table, with scores, parameters and seconds of a fit; of the networks only the
    best."""
    lines = [
        "| table | ours | best network | gradient boosting | linear | fit: ours, network, boosting |",
        "|---|---|---|---|---|---|",
    ]
    for name in TABLES:
        rows = {row["model"]: row for row in results if row["table"] == name}
        networks = [row for row in rows.values() if row["model"].startswith("MLP")]
        if "shootax" not in rows or not networks:
            continue
        best = max(networks, key=lambda row: row["score"])
        shown = [rows["shootax"], best, rows["gradient boosting"], rows["linear"]]
        cells = []
        for row in shown:
            size = "" if row["parameters"] is None else f" ({row['parameters']})"
            cells.append(f"{row['score']:.3f} ± {row['standard_error']:.3f}{size}")
        seconds = ", ".join(f"{row['seconds_median']:.1f}" for row in shown[:3])
        lines.append(f"| {name} | {' | '.join(cells)} | {seconds} s |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # pyright: ignore
    parser.add_argument("--json", type=pathlib.Path, default=pathlib.Path("tabular.json"))
    parser.add_argument("--markdown", type=pathlib.Path, help="print the table of a results file")
    parser.add_argument("--tables", default=";".join(TABLES), help="names, separated by semicolons")
    parser.add_argument("--models", default="", help="only models whose names begin with this")
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    if options.markdown:
        print(markdown(json.loads(options.markdown.read_text())))
        return
    results = json.loads(options.json.read_text()) if options.json.exists() else []
    for name in options.tables.split(";"):
        for model_name, make in candidates(TABLES[name][1], name in LARGE).items():
            if not model_name.startswith(options.models):
                continue
            row = measure(name, model_name, make, options.repeats)
            results = [r for r in results if (r["table"], r["model"]) != (name, model_name)]
            results.append(row)
            part = options.json.with_suffix(".part")
            lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in results)
            part.write_text(f"[\n{lines}\n]\n")
            part.replace(options.json)
            print(
                f"{name}, {model_name}: {row['score']:.4f} ± {row['standard_error']:.4f}, "
                f"{row['parameters']} parameters, {row['seconds_median']:.2f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
