"""The page of settings in the README is what the models say (host.md §2.2)."""

import json
import re
from pathlib import Path

import pytest
import yaml
from dsh_mnemon_host.config import HostConfig, accepted, known_keys, read_strict
from dsh_mnemon_host.config.memory import LAYERS

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
HEAD = "| Key | Takes | Default | |\n| --- | --- | --- | --- |\n"
SCHEMA = HostConfig.model_json_schema(by_alias=True)
FREE = {
    ("memoryTopology", "layers"): "<type>",
    ("memoryView", "entries"): "<entry>",
    ("customPacks",): 0,
}
"""Where keys are of a person's own, and how the page writes them."""


def leaves(path=()):
    """Yield the path of every key that holds a value and no further section."""
    for key in known_keys(HostConfig, path) or ():
        place = (*path, key)
        if place in FREE:
            place = (*place, FREE[place])
        if known_keys(HostConfig, place):
            yield from leaves(place)
        else:
            yield place


def node(path):
    """Return the schema of a key as its own field has it, references followed on the way."""
    found = SCHEMA
    for part in path:
        found = resolved(found)
        if part == 0:
            found = found["items"]
        elif part in found.get("properties", {}):
            found = found["properties"][part]
        else:
            patterns = found.get("patternProperties", {})
            found = next(iter(patterns.values()), found.get("additionalProperties"))
    return found


def resolved(found):
    branches = [item for item in found.get("anyOf", ()) if item.get("type") != "null"]
    found = branches[0] if branches else found
    return SCHEMA["$defs"][found["$ref"].rpartition("/")[2]] if "$ref" in found else found


def default(path):
    value = node(path).get("default")
    if value is None:
        return ""
    return f"`{value}`" if isinstance(value, str) and value else f"`{json.dumps(value)}`"


def table():
    """Return the page's table as the models have it."""
    rows = []
    for path in leaves():
        key = ".".join("0" if part == 0 else str(part) for part in path)
        said = node(path)["description"].replace("``", "`").replace("\n", " ")
        takes = re.sub("matching (.*)", r"matching `\1`", accepted(HostConfig, path))
        rows.append(f"| `{key}` | {takes} | {default(path)} | {said} |\n")
    return HEAD + "".join(rows)


@pytest.mark.requirement("host:settings:table")
def test_every_setting_stands_in_the_readme_as_the_models_have_it():
    shown = README[README.index(HEAD) :].partition("\n\n")[0] + "\n"
    assert shown == table()


def test_every_key_without_a_section_is_there():
    keys = {path[0] for path in leaves()}
    assert keys == set(known_keys(HostConfig))
    assert len(list(leaves())) > 60


@pytest.mark.requirement("host:settings:table")
def test_the_examples_of_the_page_are_settings():
    section = README[README.index("## Settings") :].partition("\n## ")[0]
    blocks = re.findall(r"```yaml\n(.*?)```", section, re.DOTALL)
    assert blocks
    for block in blocks:
        read_strict(HostConfig, yaml.safe_load(block))
    assert set(LAYERS) <= set(re.findall(r"`([\w-]+)`", section))


if __name__ == "__main__":
    print(table(), end="")
