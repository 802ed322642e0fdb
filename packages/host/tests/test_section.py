"""What every section of the configuration has in common."""

import pytest
from dsh_mnemon_host.config.section import Section
from pydantic import Field


class Sample(Section):
    """One of each."""

    some_text: str = ""
    """The text below
    describes it."""
    bare: int = 1
    own: int = Field(1, description="Its own.")


@pytest.mark.requirement("host:config:schema")
def test_the_text_below_a_field_describes_it():
    properties = Sample.model_json_schema()["properties"]
    assert properties["someText"]["description"] == "The text below\ndescribes it."
    assert "description" not in properties["bare"]
    assert properties["own"]["description"] == "Its own."


@pytest.mark.requirement("host:config:schema")
@pytest.mark.parametrize("module", [__name__, "nowhere"])
def test_without_its_source_a_section_is_not_described(module):
    known = {"__name__": module, "Section": Section}
    exec('class Made(Section):\n    x: int = 1\n    """Not seen."""\n', known)
    properties = known["Made"].model_json_schema()["properties"]
    assert properties == {"x": {"default": 1, "title": "X", "type": "integer"}}
