"""A sweep on a Ray cluster. A group of seeds is one task, and only the driver writes to the folder."""

import contextlib
import os
import pathlib
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from shootax.sweeps._engine import AbstractEngine, AbstractPool, Event, task
from shootax.sweeps._environment import thread_environment
from shootax.sweeps._parcel import pack, unpack
from shootax.sweeps._plan import Group, Sweep
from shootax.sweeps._ray_worker import Board, serve
from shootax.sweeps._store import Store, package_versions

WAIT_SECONDS = 0.5
NEWS_SECONDS = 10.0
# JAX's settings are passed on, so that results agree, except those that name a path or a device.
PLACES = ("PLATFORM", "DIR", "PATH", "COORDINATOR", "PROCESS", "VISIBLE", "CLUSTER")


class RayEngine(AbstractEngine):
    """Run the groups of a sweep on a Ray cluster.

    Requires the extra `ray`: `pip install 'shootax[ray]'`.

    One group of seeds is one Ray task. All nodes need the same versions of shootax and JAX, but no
    shared folder. Results, checkpoints, and files that a function writes to `ctx.folder` or `ctx.out`
    are sent to the process that started the sweep, which writes them. If a node dies, its groups
    restart on another node from their last checkpoints.

    !!! example

        ```python
        from shootax.sweeps import RayEngine

        engine = RayEngine(address="auto", gpus=0.5, retries=2)
        ```
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        cpus: float = 1,
        gpus: float = 0,
        resources: Mapping[str, float] | None = None,
        retries: int = 3,
        runtime_env: Mapping[str, Any] | None = None,
    ):
        """**Arguments:**

        - `address`: the address of the cluster: `"host:port"`, `"ray://host:port"`, or `"auto"` (the
            default) for the cluster on this machine. If this process has already called `ray.init`,
            that connection is used instead.
        - `cpus`: cores per group. The process of a group has as many threads, but at least one.
        - `gpus`: GPUs per group. With 0.25, four groups share one.
        - `resources`: other resources per group, such as `{"TPU": 4}`.
        - `retries`: how often a group restarts after its node or process has died. A group whose
            function raises an exception is not repeated until you run the sweep again.
        - `runtime_env`: Ray's runtime environment, for code and variables that the nodes lack.
            `{"working_dir": "."}` sends the folder with your modules.
        """
        self.address = address
        self.cpus = _amount(cpus, "cpus")
        self.gpus = _amount(gpus, "gpus")
        self.resources = {key: _amount(n, key) for key, n in (resources or {}).items()}
        if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
            raise ValueError(f"retries must be a whole number, 0 or more; got {retries!r}.")
        self.retries = retries
        self.runtime_env = dict(runtime_env or {})

    @contextlib.contextmanager
    def started(self) -> Iterator["RayPool"]:
        pool = RayPool(self)
        try:
            yield pool
        finally:
            pool.close()

    def environment(self, given: Mapping[str, str]) -> dict[str, Any]:
        """The runtime environment of a task, if this process has the environment variables `given`."""
        kept = {
            key: value
            for key, value in given.items()
            if key == "XLA_FLAGS"
            or (key.startswith("JAX_") and not any(place in key for place in PLACES))
        }
        several = 2 if self.gpus % 1 else 1  # groups on one GPU
        variables = thread_environment(kept, max(1, int(self.cpus)), jobs=several)
        own = self.runtime_env.get("env_vars", {})
        return {**self.runtime_env, "env_vars": {**variables, **own}}


class RayPool(AbstractPool):
    """A connection to a cluster, opened when there is something to run."""

    def __init__(self, engine: RayEngine):
        self._engine, self._mine = engine, False

    def close(self) -> None:
        """Close the connection if it was opened here. The cluster keeps running."""
        if self._mine:
            _ray().shutdown()
            self._mine = False

    def run(
        self, sweep: Sweep, groups: Sequence[Group], store: Store, checkpoint_seconds: float
    ) -> Iterator[Event]:
        """Submit all groups to the cluster and yield events as they happen."""
        ray, engine = self._connected(), self._engine
        board = ray.remote(Board).options(**_always_there(ray)).remote()
        function = ray.remote(serve)
        options = {
            "num_cpus": engine.cpus,
            "num_gpus": engine.gpus,
            "resources": engine.resources,
            "max_retries": engine.retries,
            "runtime_env": engine.environment(os.environ),
        }
        common = _common(sweep)
        pending: dict[Any, Group] = {}
        try:
            _hand_over(store, groups, board)
            for group in groups:
                given = {**task(sweep, group, checkpoint_seconds), **common}
                pending[function.options(name=group.name, **options).remote(given, board)] = group
            yield from _events(ray, board, pending, store)
        finally:
            for reference in pending:
                with contextlib.suppress(Exception):
                    ray.cancel(reference, force=True)
            with contextlib.suppress(Exception):
                ray.kill(board)

    def _connected(self) -> Any:
        ray, engine = _ray(), self._engine
        if not ray.is_initialized():
            address = engine.address or "auto"
            try:
                ray.init(address=address, logging_level="warning", log_to_driver=True)
            except Exception as error:
                raise RuntimeError(
                    f"There is no Ray cluster at address {address!r} ({error}). Start one with "
                    "`ray start --head`, or pass the address of a running one."
                ) from error
            self._mine = True
        wanted = {"CPU": engine.cpus, "GPU": engine.gpus, **engine.resources}
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        if not any(all(node.get(k, 0) >= n for k, n in wanted.items()) for node in nodes):
            asked = ", ".join(f"{n:g} {k}" for k, n in wanted.items() if n)
            warnings.warn(
                f"No node of the cluster has {asked} at present. The sweep waits until one joins.",
                stacklevel=2,
            )
        return ray


def _events(ray: Any, board: Any, pending: dict[Any, Group], store: Store) -> Iterator[Event]:
    """Yield events until no task in `pending` is left, and store the results."""
    running = {group.name: group for group in pending.values()}
    begun: set[str] = set()
    born = ""

    def begin(name: str) -> Iterator[Event]:
        if name not in begun:
            begun.add(name)
            yield Event("begin", running[name], None)

    while pending:
        ready, _ = ray.wait(list(pending), num_returns=1, timeout=WAIT_SECONDS)
        messages, checkpoints, last = [], {}, born
        with contextlib.suppress(ray.exceptions.RayError):  # results arrive without a board, too
            born, messages, checkpoints = ray.get(board.news.remote(), timeout=NEWS_SECONDS)
        if last and born != last:
            _hand_over(store, pending.values(), board)
        for name, message in messages:
            if name in running:
                yield from begin(name)
                yield Event("progress", running[name], message)
        if not store.exists():
            yield Event("gone", next(iter(pending.values())), None)
        for name, parcel in checkpoints.items():
            if name in running:
                unpack(parcel, store.checkpoint(running[name]))
        for reference in ready:
            group = pending.pop(reference)
            yield from begin(group.name)
            try:
                result = ray.get(reference)
            except ray.exceptions.RayError as error:
                yield Event("died", group, _reason(error))
            else:
                _write(store, group, result)
                yield Event("runs", group, result["runs"])
            del running[group.name]
            board.forget.remote(group.name)


def _write(store: Store, group: Group, result: Mapping[str, Any]) -> None:
    """Store the result of a group, files first: a group with stored runs must be complete."""
    unpack(result["files"], store.folder)
    if result["checkpoint"] is not None:
        unpack(result["checkpoint"], store.checkpoint(group))
    store.write_group(group, result["runs"])


def _common(sweep: Sweep) -> dict[str, Any]:
    """The part of a task that all groups share, for machines that lack the folders of this one."""
    place = sweep.function.rpartition(":")[0]
    script = pathlib.Path(place).read_text(encoding="utf-8") if place.endswith(".py") else None
    paths = [entry or os.getcwd() for entry in task(sweep, sweep.groups[0], 0)["path"]]
    return {"script": script, "path": paths, "versions": package_versions()}


def _hand_over(store: Store, groups: Iterable[Group], board: Any) -> None:
    """Copy the checkpoints of groups to a new board."""
    for group in groups:
        checkpoint = store.checkpoint(group)
        if checkpoint.exists():
            board.keep.remote(group.name, pack(checkpoint), news=False)
    board.complete.remote()


def _always_there(ray: Any) -> dict[str, Any]:
    """Options for an actor on the node of this process. If that node dies, Ray restarts the actor on
    another."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    node = ray.get_runtime_context().get_node_id()
    beside = NodeAffinitySchedulingStrategy(node, soft=True)
    restarts = {"max_restarts": -1, "max_task_retries": -1}
    # Ray places an actor that requests no resources at random.
    return {"num_cpus": 0, "memory": 2**20, "scheduling_strategy": beside, **restarts}


def _reason(error: BaseException) -> str:
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return f"Ray gave up on this run: {type(error).__name__}: {first[:300]}"


def _amount(value: float, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e6:
        raise ValueError(f"{name} must be a number, 0 or more; got {value!r}.")
    return value


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise ImportError("engine='ray' needs Ray: pip install 'shootax[ray]'.") from error
    return ray
