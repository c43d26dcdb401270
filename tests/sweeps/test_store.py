"""The folder of a sweep, at its very beginning."""

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
