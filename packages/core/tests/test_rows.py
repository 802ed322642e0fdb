"""Reading profiles: rows, includes and what is refused (spec/core.md §19.4, D33)."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from dsh_mnemon_core.errors import ConfigurationError
from dsh_mnemon_core.profile import Row, load_profile


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(ConfigurationError) as caught:
        call()
    return caught.value.code


def test_rows_are_read_in_order_with_defaults() -> None:
    profile = load_profile(
        """
        version: 1
        entries:
          - id: mnemon
            module: dsh_mnemon_host
            config: {writeEnabled: true}
          - {id: mnemon-source-runtime, module: a.b_c, enabled: false}
        """
    )
    assert profile.rows == (
        Row(id="mnemon", module="dsh_mnemon_host", config={"writeEnabled": True}),
        Row(id="mnemon-source-runtime", module="a.b_c", enabled=False),
    )
    assert "writeEnabled" not in repr(profile)


def test_includes_prefix_their_rows_and_pass_on_being_off(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "main.yaml").write_text(
        "version: 1\nentries:\n"
        "  - {id: one, include: sub/team.yaml}\n"
        "  - {id: two, include: sub/team.yaml, enabled: false}\n"
        "  - {id: last, module: m}\n",
        encoding="utf-8",
    )
    (tmp_path / "sub" / "team.yaml").write_text(
        "version: 1\nentries: [{id: in, include: leaf.yaml}, {id: row, module: m}]", "utf-8"
    )
    (tmp_path / "sub" / "leaf.yaml").write_text(
        "version: 1\nentries: [{id: leaf, module: m}]", "utf-8"
    )
    expected = [
        ("one:in:leaf", True),
        ("one:row", True),
        ("two:in:leaf", False),
        ("two:row", False),
        ("last", True),
    ]
    loaded = load_profile(tmp_path / "main.yaml")
    assert [(row.id, row.enabled) for row in loaded.rows] == expected
    text = (tmp_path / "main.yaml").read_text("utf-8")
    assert load_profile(text, base=tmp_path) == loaded


@pytest.mark.parametrize(
    ("entry", "place", "problem"),
    [
        ("{id: x, modul: m}", "row 'x'", "modul: unknown key (did you mean 'module'?)"),
        ("{id: x, module: m, enable: 1}", "row 'x'", "(did you mean 'enabled'?)"),
        ("{id: x, module: m, enabled: 'no'}", "row 'x'", "enabled: "),
        ("{id: 5, module: m}", "row number 1", "id: "),
        ("{id: '-x', module: m}", "row '-x'", "id: "),
        ("{id: x, module: .m}", "row 'x'", "module: "),
        ("{id: x, module: m, config: [1]}", "row 'x'", "config: "),
        ("{id: x}", "row 'x'", "either a module or an include"),
        ("{id: x, module: m, include: f}", "row 'x'", "either a module or an include"),
        ("{id: x, include: f, config: {}}", "row 'x'", "no config of its own"),
        ("text", "row number 1", "value: "),
    ],
)
def test_wrong_row_names_row_key_problem_and_nearest_key(
    entry: str, place: str, problem: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_profile(f"version: 1\nentries: [{entry}]")
    assert caught.value.code == "config-invalid"
    assert place in caught.value.message
    assert problem in caught.value.message


def test_wrong_rows_become_problems_that_leave_the_others_alone() -> None:
    loaded = load_profile(
        "version: 1\nentries: [{id: x, module: m}, text, {id: y, modul: m}, {id: x, module: n},"
        " {id: z, include: nowhere.yaml}, {id: last, module: m}]",
        base=Path("/nonexistent"),
        strict=False,
    )
    assert [(row.id, row.problem and row.problem.code) for row in loaded.rows] == [
        ("x", None),
        ("number 2", "config-invalid"),
        ("y", "config-invalid"),
        ("x#2", "row-duplicated"),
        ("z", "profile-unreadable"),
        ("last", None),
    ]
    assert (
        code_of(lambda: load_profile("version: 2\nentries: []", strict=False)) == "config-invalid"
    )


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "config-invalid"),
        ("version: 2\nentries: []", "config-invalid"),
        ("version: 1\nentries: []\nextra: 1", "config-invalid"),
        ("version: 1\nentries: [{id: x, module: m}, {id: x, module: m}]", "row-duplicated"),
        ("version: 1\nentries: [{id: x, include: f}]", "profile-unreadable"),
        ("version: 1\nversion: 1\nentries: []", "profile-invalid"),
        ("version: [1", "profile-invalid"),
        ("version: !!python/name:os.system 1", "profile-invalid"),
        ("version: \x00", "profile-invalid"),
        ("[1, 2]", "config-invalid"),
    ],
)
def test_malformed_profile_is_refused(text: str, code: str) -> None:
    assert code_of(lambda: load_profile(text)) == code


def test_yaml_error_names_the_line_but_never_quotes_it() -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_profile("version: 1\nentries:\n  - config: {token: s3cret, token: s3cret}\n")
    assert "in line 3" in caught.value.message
    assert "s3cret" not in caught.value.message


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ("2020-99-99", "no valid timestamp in line 3"),
        ("!!int abc", "no valid int in line 3"),
        ("!!int ''", "no valid int in line 3"),
        ("!!bool abc", "no valid bool in line 3"),
        ("!!timestamp abc", "no valid timestamp in line 3"),
        ("[" * 1200, "nested too deeply"),
    ],
)
def test_values_that_yaml_cannot_read_are_refused_with_their_place(value: str, part: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_profile(f"version: 1\nentries:\n  - {{id: x, module: m, config: {{x: {value}}}}}")
    assert caught.value.code == "profile-invalid"
    assert part in caught.value.message


def test_messages_name_no_class_of_ours() -> None:
    for text in ("[1, 2]", "version: 1\nentries: [text]"):
        with pytest.raises(ConfigurationError) as caught:
            load_profile(text)
        assert "it is no mapping" in caught.value.message
        assert "_" not in caught.value.message


def test_complex_keys_are_left_to_the_row_model() -> None:
    text = "version: 1\nentries: [{id: x, module: m, ? [a] : 1}]"
    assert code_of(lambda: load_profile(text)) == "profile-invalid"


def test_cycle_missing_and_unreadable_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("version: 1\nentries: [{id: x, include: ./p.yaml}]", "utf-8")
    assert code_of(lambda: load_profile(path)) == "include-cycle"
    assert code_of(lambda: load_profile(tmp_path / "none.yaml")) == "profile-unreadable"
    path.write_bytes(b"\xff\xfe")
    assert code_of(lambda: load_profile(path)) == "profile-unreadable"


@pytest.mark.parametrize("kind", ["pipe", "folder", "loop", "long", "nul"])
def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "p.yaml"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "long":
        path.write_text("version: 1\nentries: []\n#" + "x" * 1_048_576, "utf-8")
    else:
        path = tmp_path / "p\0.yaml"
    with pytest.raises(ConfigurationError) as caught:
        load_profile(path)
    assert caught.value.code == "profile-unreadable"
    assert str(tmp_path) in caught.value.message


def test_a_link_to_a_profile_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real.yaml").write_text("version: 1\nentries: [{id: x, module: m}]", "utf-8")
    link = tmp_path / "link.yaml"
    link.symlink_to("real.yaml")
    assert load_profile(link).rows == (Row(id="x", module="m"),)


def test_id_that_includes_make_too_long_is_refused(tmp_path: Path) -> None:
    long = "i" * 200
    (tmp_path / "leaf.yaml").write_text(
        f"version: 1\nentries: [{{id: {long}, module: m}}]", "utf-8"
    )
    text = f"version: 1\nentries: [{{id: {long}, include: leaf.yaml}}]"
    assert code_of(lambda: load_profile(text, base=tmp_path)) == "row-id-invalid"
