"""Absolute paths in lines that a model sees."""

import pytest
from dsh_mnemon_core.errors import StorageError
from dsh_mnemon_source_memory_spaces._paths import short_errors, short_paths

pytestmark = pytest.mark.requirement("memory-spaces:paths")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("store /srv/jane/data/default/mnemon.db: locked", "store default/mnemon.db: locked"),
        ("/srv/mnemon.db is locked", "srv/mnemon.db is locked"),
        ("/mnemon.db is locked", "mnemon.db is locked"),
        ("cannot copy '/srv/x/a/b.db' to /srv/y/c/d.db", "cannot copy 'a/b.db' to c/d.db"),
        ('("/srv/x/a/b.db","/srv/y/c/d.db")', '("a/b.db","c/d.db")'),
        ("/Users/Jane Doe/App Support/default/my notes.db: x", "default/my notes.db: x"),
        ("/srv//x///default//mnemon.db", "default/mnemon.db"),
        ("/srv/x/default/", "x/default"),
        ("path=/srv/x/default/mnemon.db", "path=default/mnemon.db"),
        ("/srv/x/y.db failed; see docs/a/b and https://h/p/q", "x/y.db failed; see docs/a/b and https://h/p/q"),
        ("文件/srv/jane/default/mnemon.db 已锁定", "文件default/mnemon.db 已锁定"),
        (r"C:\Users\Jane Doe\data\default\mnemon.db may not", "default/mnemon.db may not"),
        ("d:/data/default/mnemon.db", "default/mnemon.db"),
        (r'{"file": "C:\\Users\\jane\\default\\mnemon.db"}', '{"file": "default/mnemon.db"}'),
        (r"\\server\share\team\default\mnemon.db x", "default/mnemon.db x"),
        (r"\\?\C:\Users\jane\default\mnemon.db", "default/mnemon.db"),
        ("file:///srv/x/My%20Notes/mnemon.db?mode=rw", "My Notes/mnemon.db?mode=rw"),
        ("file:///C:/Users/jane/default/mnemon.db", "default/mnemon.db"),
        ("FILE://localhost/srv/x/default/m.db", "default/m.db"),
        ("file://server/share/team/default/m.db", "default/m.db"),
        ("file:/srv/x/default/m.db", "default/m.db"),
        ("file:///srv/x%2Fy%2Fm.db", "y/m.db"),
        ("sqlite:///srv/x/default/m.db", "default/m.db"),
        ("http://localhost:11434/api?at=/srv/x/y/z.db", "http://localhost:11434/api?at=y/z.db"),
    ],
)  # fmt: skip
def test_a_path_is_its_last_two_parts(text: str, shown: str) -> None:
    assert short_paths(text) == shown
    assert short_paths(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "no answer within 10 s",
        "default/mnemon.db and ./a/b/c, ../a/b/c and ~/a/b/c",
        "read/write, 3 / 4, 2026/01/02, */*, </b></i>, C: and //",
        "读/写/改 失败",
        "GET https://api.example.com/v1/a/b failed",
        "http://localhost/v1/a/b and [::1]/v1/a/b",
        "viking://user/memories/a",
        "",
    ],
)
def test_what_is_no_absolute_path_stays(text: str) -> None:
    assert short_paths(text) == text


def test_a_long_line_takes_no_time() -> None:
    line = "/a b" * 50_000
    assert short_paths(line) == "a b/a b"


def test_an_error_keeps_the_whole_path_in_its_details() -> None:
    file = "/srv/jane/default/mnemon.db"
    with pytest.raises(StorageError) as caught, short_errors():
        raise StorageError("store-locked", f"{file} is locked", details={"file": file})
    error = caught.value
    assert (error.message, str(error)) == ("default/mnemon.db is locked",) * 2
    assert error.details["file"] == file
