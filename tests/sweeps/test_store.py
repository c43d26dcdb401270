"""The folder of a sweep, at its very beginning."""

import shutil

import pytest

from shootax.sweeps import Group, Store


@pytest.mark.parametrize("left", [[], ["runs"], ["runs", "models", "checkpoints"]])
@pytest.mark.parametrize("part", [None, "sweep.json.a1b2c3d4.part"])
def test_a_sweep_killed_before_its_settings_were_written_starts_again(tmp_path, left, part):
    for name in left:
        (tmp_path / name).mkdir()
    if part is not None:
        (tmp_path / part).write_text('{"settings"')
    Store(tmp_path).open({"a": 1})
    Store(tmp_path).open({"a": 1})
    assert (tmp_path / "sweep.json").exists()


@pytest.mark.parametrize("other", ["notes.txt", "sweep.json.part", "runs/a.json", "results/"])
def test_a_folder_with_anything_else_is_left_alone(tmp_path, other):
    path = tmp_path / other
    if other.endswith("/"):
        path.mkdir()
    else:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    with pytest.raises(ValueError, match="is not empty and holds no sweep"):
        Store(tmp_path).open({"a": 1})
    assert not (tmp_path / "sweep.json").exists()


def test_what_a_killed_writer_left_of_a_checkpoint_goes_with_it(tmp_path):
    store = Store(tmp_path / "out")
    store.open({})
    group = Group("x-1-s0", "x = 1", {"x": 1}, (0,))
    mine, other = (
        store.checkpoints / f"{name}.safetensors.a1b2c3d4.part" for name in ("x-1-s0", "y")
    )
    for path in (store.checkpoint(group), mine, other):
        path.write_text("half")
    store.write_group(group, [{"seed": 0, "status": "ok"}])
    assert list(store.checkpoints.iterdir()) == [other]


def test_a_folder_published_without_its_runs_goes_on_where_it_was(tmp_path):
    """Only what `results.json` lacks is left, and nothing that it has is lost."""
    groups = [Group(f"x-{x}-s{s}", f"x = {x}", {"x": x}, (s,)) for x in (1, 2) for s in (0, 1)]
    store = Store(tmp_path)
    store.open({"a": 1})
    for number, group in enumerate(groups[:3]):
        run = {**group.config, "seed": group.seeds[0], "status": "ok", "value": number}
        store.write_group(group, [run])
    known = store.collect(groups)
    shutil.rmtree(store.runs)
    again = Store(tmp_path)
    again.open({"a": 1})
    assert list(again.finished(groups)) == [group.name for group in groups[:3]]
    assert again.collect(groups) == known


def test_a_run_whose_file_was_removed_is_run_again(tmp_path):
    groups = [Group(f"x-1-s{s}", "x = 1", {"x": 1}, (s,)) for s in (0, 1)]
    store = Store(tmp_path)
    store.open({})
    for group in groups:
        store.write_group(group, [{"x": 1, "seed": group.seeds[0], "status": "ok"}])
    store.collect(groups)
    (store.runs / "x-1-s0.json").unlink()
    again = Store(tmp_path)
    again.open({})
    assert list(again.finished(groups)) == ["x-1-s1"]
