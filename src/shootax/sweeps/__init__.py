"""Run a function over a grid of settings and seeds in several processes, and resume if interrupted.

Most users only need `run_sweep`:

```python
# study.py
from shootax.sweeps import run_sweep

def train(config, seed, ctx):
    net = make_net(inflation=config["inflation"], seed=seed)
    fit = sx.fit(net, x, y, seed=seed, checkpoint=ctx.checkpoint)
    sx.save(ctx.folder / "net.safetensors", fit.net)
    return {"test_mse": error(fit.net)}

if __name__ == "__main__":
    runs = run_sweep(train, {"inflation": [4, 8]}, "results", seeds=3, jobs=2)
```
"""

from shootax.sweeps._context import Context as Context
from shootax.sweeps._display import duration as duration
from shootax.sweeps._engine import AbstractEngine as AbstractEngine
from shootax.sweeps._environment import available_cores as available_cores
from shootax.sweeps._environment import thread_environment as thread_environment
from shootax.sweeps._plan import Group as Group
from shootax.sweeps._plan import Sweep as Sweep
from shootax.sweeps._plan import grid_sweep as grid_sweep
from shootax.sweeps._plan import seeds_name as seeds_name
from shootax.sweeps._plan import split_seeds as split_seeds
from shootax.sweeps._pool import LocalEngine as LocalEngine
from shootax.sweeps._protocol import Channel as Channel
from shootax.sweeps._protocol import Worker as Worker
from shootax.sweeps._ray import RayEngine as RayEngine
from shootax.sweeps._run import resume as resume
from shootax.sweeps._run import run_sweep as run_sweep
from shootax.sweeps._search import SearchResult as SearchResult
from shootax.sweeps._search import search as search
from shootax.sweeps._space import Integer as Integer
from shootax.sweeps._space import Real as Real
from shootax.sweeps._store import Store as Store
from shootax.sweeps._store import read_results as read_results
from shootax.sweeps._store import read_settings as read_settings
from shootax.sweeps._table import to_pandas as to_pandas
