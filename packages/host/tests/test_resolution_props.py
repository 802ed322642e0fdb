"""The rules of host.md §2.3 hold for every combination of location keys."""

from pathlib import Path

import pytest
from dsh_mnemon_core.errors import ConfigurationError
from dsh_mnemon_host.config import HostConfig, expand, read_strict, resolve
from hypothesis import given
from hypothesis import strategies as st

_locations = st.sampled_from(["/a", "/b", "~/c", "~", "/a/"])
_ids = st.sampled_from(["legacy", "legacy-2", "one", "two"])


@st.composite
def _documents(draw):
    ids = draw(st.lists(_ids, max_size=3, unique=True))
    document = {"customPacks": [{"id": i, "name": i, "dataDir": draw(_locations)} for i in ids]}
    scopes = st.sampled_from(["global", "workspace", "custom", "workspaces"])
    for key, values in (("storageScope", scopes), ("dataDir", _locations), ("customPackId", _ids)):
        if draw(st.booleans()):
            document[key] = draw(values)
    return document


@given(_documents())
def test_resolution_follows_the_rules(document):
    config = read_strict(HostConfig, document)
    location, chosen = document.get("dataDir"), document.get("customPackId")
    packs = [(pack["id"], pack["dataDir"]) for pack in document["customPacks"]]
    if location and location not in [place for _, place in packs]:
        number = 1
        names = [name for name, _ in packs]
        while (name := "legacy" if number == 1 else f"legacy-{number}") in names:
            number += 1
        packs.append((name, location))
    scope = document.get("storageScope") or ("custom" if packs else "global")
    known = dict(packs)
    refused = None
    if chosen is not None and chosen not in known:
        refused = "setting-choice"
    elif scope == "custom" and chosen is None and location is None and len(packs) != 1:
        refused = "setting-required"
    if refused:
        with pytest.raises(ConfigurationError) as caught:
            resolve(config, {}, "/home/u")
        assert caught.value.code == refused
        return
    resolved = resolve(config, {}, "/home/u")
    assert [(pack.id, pack.data_dir) for pack in resolved.custom_packs] == packs
    assert resolved.storage_scope == scope
    if chosen is not None:
        assert resolved.selected_pack.id == chosen
    elif location is not None:
        assert resolved.selected_pack.data_dir == location
    else:
        assert (resolved.selected_pack is None) == (len(packs) != 1)
    pack = resolved.selected_pack
    assert resolved.data_dir == (expand(pack.data_dir, "/home/u") if pack else None)


@given(_locations, st.sampled_from(["/home/u", "/home/v", "/home/ü"]))
def test_expanded_locations_are_absolute_and_normal(location, home):
    place = expand(location, home)
    assert place.is_absolute()
    assert ".." not in place.parts
    assert expand(str(place), home) == place == Path(str(place))
