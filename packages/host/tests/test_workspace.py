import os

import pytest
from dsh_mnemon_core.errors import InputError, StorageError
from dsh_mnemon_host.workspace import (
    canonical_workspace,
    is_worktree,
    read_workspace,
    workspace_id,
)


@pytest.mark.requirement("host:layout:workspace")
def test_a_link_to_a_workspace_is_that_workspace(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    assert canonical_workspace(f"{tmp_path}/alias") == tmp_path / "real"
    assert workspace_id(f"{tmp_path}/alias") == workspace_id(f"{tmp_path}/real")


@pytest.mark.requirement("host:layout:workspace")
def test_the_missing_rest_is_kept_as_typed_behind_the_real_ancestor(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    assert canonical_workspace(f"{tmp_path}/alias/Über/项目") == tmp_path / "real" / "Über" / "项目"


def test_a_dangling_link_counts_as_missing(tmp_path):
    (tmp_path / "dangling").symlink_to(tmp_path / "gone")
    assert canonical_workspace(f"{tmp_path}/dangling/x") == tmp_path / "dangling" / "x"


def test_dots_go_before_links_are_followed(tmp_path):
    (tmp_path / "deep" / "real").mkdir(parents=True)
    (tmp_path / "alias").symlink_to(tmp_path / "deep" / "real")
    assert canonical_workspace(f"{tmp_path}/alias/../x") == tmp_path / "x"


def test_identity_follows_the_disk(tmp_path):
    before = workspace_id(f"{tmp_path}/w")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "w").symlink_to(tmp_path / "elsewhere")
    assert workspace_id(f"{tmp_path}/w") != before


def test_resolving_creates_nothing(tmp_path):
    canonical_workspace(f"{tmp_path}/a/b")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.requirement("host:layout:workspace")
@pytest.mark.parametrize("rest", ["", "/child", "/child/grandchild"])
def test_a_file_in_the_way_is_refused(tmp_path, rest):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    if not rest:
        assert canonical_workspace(f"{tmp_path}/file") == tmp_path / "file"
        return
    with pytest.raises(StorageError) as caught:
        canonical_workspace(f"{tmp_path}/file{rest}")
    assert caught.value.code == "workspace-unreadable"
    assert caught.value.details["reason"] == "ENOTDIR"


def test_a_file_in_the_way_is_refused_where_the_system_calls_it_missing(tmp_path, monkeypatch):
    """Windows reports a path below a file as not existing."""
    (tmp_path / "file").write_text("x", encoding="utf-8")
    real = os.path.realpath

    def windows(path, *, strict=False):
        try:
            return real(path, strict=strict)
        except NotADirectoryError as error:
            raise FileNotFoundError from error

    monkeypatch.setattr(os.path, "realpath", windows)
    with pytest.raises(StorageError) as caught:
        canonical_workspace(f"{tmp_path}/file/child")
    assert caught.value.details["reason"] == "ENOTDIR"


def test_a_loop_of_links_is_refused(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(StorageError) as caught:
        canonical_workspace(f"{tmp_path}/a")
    assert caught.value.details["reason"] == "ELOOP"


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("relative", "workspace-not-absolute"),
        ("", "workspace-not-absolute"),
        ("/nul\0", "workspace-not-absolute"),
        ("/lone/\udc80", "text-not-unicode"),
    ],
)
def test_what_is_no_workspace_path_is_refused(path, code):
    with pytest.raises(InputError) as caught:
        read_workspace(path)
    assert caught.value.code == code


def _linked_worktree(tmp_path):
    """Lay out what ``git worktree add`` leaves behind."""
    private = tmp_path / "main" / ".git" / "worktrees" / "feature"
    private.mkdir(parents=True)
    (private / "commondir").write_text("../..\n", encoding="utf-8")
    (tmp_path / "feature" / "src").mkdir(parents=True)
    (tmp_path / "feature" / ".git").write_text(f"gitdir: {private}\n", encoding="utf-8")
    return tmp_path / "feature"


def test_a_linked_worktree_is_one_down_to_its_last_folder(tmp_path):
    worktree = _linked_worktree(tmp_path)
    assert is_worktree(worktree)
    assert is_worktree(worktree / "src")
    assert not is_worktree(tmp_path / "main")


def test_a_worktree_with_a_relative_gitdir_is_one(tmp_path):
    worktree = _linked_worktree(tmp_path)
    (worktree / ".git").write_text("gitdir: ../main/.git/worktrees/feature\n", encoding="utf-8")
    assert is_worktree(worktree)


def test_a_submodule_is_no_worktree(tmp_path):
    (tmp_path / ".git" / "modules" / "sub").mkdir(parents=True)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / ".git").write_text("gitdir: ../.git/modules/sub\n", encoding="utf-8")
    assert not is_worktree(tmp_path / "sub")


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\xff\xfe", b"gitdir: \0"])
def test_a_broken_git_file_is_no_worktree(tmp_path, content):
    (tmp_path / ".git").write_bytes(content)
    assert not is_worktree(tmp_path)


def test_a_folder_without_git_is_no_worktree(monkeypatch, tmp_path):
    monkeypatch.setattr("pathlib.Path.is_dir", lambda self: False)
    monkeypatch.setattr("pathlib.Path.is_file", lambda self: False)
    assert not is_worktree(tmp_path)
