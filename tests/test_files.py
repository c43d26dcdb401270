"""Files that are whole or absent, and outputs that spare the inputs."""

import contextlib
import os
import stat
import time

import pytest

from shootax import _files as files


def test_a_file_is_replaced_when_it_is_whole(tmp_path):
    path = tmp_path / "out"
    path.write_text("old")
    with files.replaced(path) as temporary:
        assert path.read_text() == "old"
        with open(temporary, "w") as file:
            file.write("new")
    assert path.read_text() == "new"
    with contextlib.suppress(KeyboardInterrupt), files.replaced(path) as temporary:
        raise KeyboardInterrupt
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_contents_are_on_the_disk_before_the_name_and_the_folder_after(tmp_path, monkeypatch):
    calls = []
    sync, replace = os.fsync, os.replace

    def noted_sync(handle):
        calls.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        sync(handle)

    def noted_replace(*names):
        calls.append("name")
        replace(*names)

    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(os, "replace", noted_replace)
    files.write_text(tmp_path / "out", "text")
    assert calls == ["file", "name", "folder"]


def test_a_system_that_cannot_synchronise(tmp_path, monkeypatch):
    """It is no reason not to write; a full disk is."""
    import errno

    def fail(code):
        def sync(handle):
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(os, "fsync", sync)

    fail(errno.EINVAL)
    files.write_text(tmp_path / "out", "text")
    assert (tmp_path / "out").read_text() == "text"
    fail(errno.ENOSPC)
    with pytest.raises(
        OSError, match=r"out could not be written \(No space left.*is unchanged"
    ) as told:
        files.write_text(tmp_path / "out", "new")
    assert told.value.errno == errno.ENOSPC
    assert (tmp_path / "out").read_text() == "text"
    assert os.listdir(tmp_path) == ["out"]


def test_what_dead_writers_left_is_removed(tmp_path):
    dead, alive, other, foreign = (
        tmp_path / name
        for name in ("out.abcd1234.part", "out.efgh5678.part", "in.abcd1234.part", "out.my.part")
    )
    for path in (dead, alive, other, foreign):
        path.write_text("half")
        if path is not alive:
            os.utime(path, (0, time.time() - 2 * files.STALE))
    files.write_text(tmp_path / "out", "text")
    assert set(tmp_path.iterdir()) == {tmp_path / "out", alive, other, foreign}


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "folder").mkdir()
    real, link = tmp_path / "folder" / "real", tmp_path / "link"
    real.write_text("old")
    link.symlink_to(real)
    files.write_text(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"


def test_an_input_is_no_output_under_any_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "data"
    source.write_text("x")
    os.link(source, "hard")
    os.symlink(source, "soft")
    for name in ("data", "./data", "hard", "soft", source):
        with pytest.raises(ValueError, match="would overwrite"):
            files.check_output(name, inputs=["missing", "data"])
    with pytest.raises(ValueError, match="would overwrite"):
        files.check_output("new", inputs=[tmp_path / "new"])  # neither exists yet
    files.check_output("other", inputs=["data"])
    assert not (tmp_path / "other").exists()


def test_places_where_nothing_can_be_written(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="is a folder"):
        files.check_output(tmp_path)
    with pytest.raises(ValueError, match="There is no folder"):
        files.check_output(tmp_path / "no" / "file")
    with pytest.raises(ValueError, match="is not an ordinary file"):
        files.check_output(os.devnull)
    with pytest.raises(
        ValueError, match=r"cannot be written to the folder .* \(File name too long\)"
    ):
        files.check_output(tmp_path / ("n" * 300))
    (tmp_path / "locked").touch()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(ValueError, match="is write-protected"):
        files.check_output(tmp_path / "locked")
