import attrs
import pytest
from dsh_mnemon_core.errors import DefinitionError, MnemonError, RegistrationError
from dsh_mnemon_core.identity import (
    Provenance,
    constant,
    is_default_instance,
    read_capability,
    read_instance_key,
    read_package_name,
    read_type_id,
)


@pytest.mark.parametrize(
    "key",
    ["source:a", "strategy:A.b_c:d/e-f", "strategy-extension:9", "source:" + "x" * 293],
)
def test_instance_keys(key):
    assert read_instance_key(key) == key


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        (None, None),
        ("a", None),
        ("source:", None),
        ("source:-a", None),
        ("source:a b", None),
        ("source:a\n", None),
        ("plugin:a", None),
        ("source:" + "x" * 294, None),
        ("strategy:a", "source"),
        ("strategy-extension:a", "strategy"),
    ],
)
def test_instance_keys_refused(key, kind):
    with pytest.raises(RegistrationError) as caught:
        read_instance_key(key, kind)
    assert caught.value.code == "instance-key-format"


@pytest.mark.parametrize(
    ("key", "default"),
    [
        ("source:mnemon-source-runtime", True),
        ("source:team:mnemon-source-runtime", True),
        ("source:my-mnemon-source-runtime", False),
        ("source:mnemon-source-runtime/runtime", False),
        ("source:mnemon-source-documents", False),
        ("strategy:mnemon-source-runtime", False),
    ],
)
def test_default_instance_is_the_shipped_row_under_any_include(key, default):
    assert is_default_instance(key, "runtime") is default


def test_package_names():
    for name in ("a", "@scope/a.b_c-d", "0a"):
        assert read_package_name(name) == name
    for bad in ("A", "@a", "a/b", "-a", "a b", "@Scope/a"):
        with pytest.raises(DefinitionError) as caught:
            read_package_name(bad)
        assert caught.value.code == "package-name-invalid"


def test_capability_and_type_id():
    assert read_capability("import") == "import"
    assert read_type_id(" default-three-tier ") == "default-three-tier"
    for read, bad, code in (
        (read_capability, "swim", "capability-unsupported"),
        (read_capability, ["read"], "capability-unsupported"),
        (read_type_id, "A", "id-format"),
    ):
        with pytest.raises(DefinitionError) as caught:
            read(bad)
        assert caught.value.code == code


@pytest.mark.parametrize(
    ("expected", "given"), [("a", "b"), (True, 1), (True, "true"), ("a", None)]
)
def test_constant_accepts_nothing_else(expected, given):
    field = constant(expected, "some-code", "some field")
    made = attrs.make_class("Made", {"field": field})
    assert made().field == made(expected).field == expected
    with pytest.raises(DefinitionError) as caught:
        made(given)
    assert caught.value.code == "some-code"


def test_constant_may_have_to_be_said():
    made = attrs.make_class("Made", {"field": constant(True, "c", "f", required=True)})
    with pytest.raises(TypeError):
        made()


def test_provenance_normalizes():
    made = Provenance(package_name="a", entry_id=" row ", artifact_digest=" ")
    assert (made.entry_id, made.artifact_digest) == ("row", None)
    for bad in ({"entry_id": "x" * 301}, {"artifact_digest": "x" * 501}, {"package_name": "A"}):
        with pytest.raises(MnemonError):
            Provenance(**{"package_name": "a", "entry_id": "row", **bad})
