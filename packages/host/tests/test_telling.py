"""Failures that name what was done before them."""

import pytest
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_host.work.telling import Telling


def test_details_are_added_to_a_refusal_and_to_nothing_else():
    done = []
    refusal = InputError("some-code", "Something.", details={"field": "x"})

    def fail(error):
        done.append(1)
        raise error

    with pytest.raises(InputError) as caught, Telling(lambda: {"done": list(done)}):
        fail(refusal)
    assert caught.value.details == {"field": "x", "done": [1]}
    with pytest.raises(ValueError, match="other"), Telling(lambda: pytest.fail("not asked")):
        fail(ValueError("other"))
    with Telling(lambda: pytest.fail("not asked")):
        done.append(2)
    assert done == [1, 1, 2]
