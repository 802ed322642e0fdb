"""A suite notices when its own tests were taken away."""

import pytest
from dsh_mnemon_testing import Contract, deviates
from dsh_mnemon_testing.guard import deviations

pytestmark = pytest.mark.requirement("testing:guard")


class Good(Contract, contract=True):
    def test_one(self):
        pass

    def helper(self):
        pass


class Half(Contract, contract=True):
    def test_two(self):
        pass


class Whole(Good, Half, contract=True):
    def test_three(self):
        pass


def test_contract_is_what_the_suite_and_its_parents_wrote():
    assert set(Whole.contract_tests) == {
        "test_contract_is_complete",
        "test_one",
        "test_two",
        "test_three",
    }
    assert set(Good.contract_tests) == {"test_contract_is_complete", "test_one"}


def test_subclass_that_adds_tests_keeps_the_contract():
    class Mine(Whole):
        def test_four(self):
            pass

    assert Mine.contract_tests == Whole.contract_tests
    assert list(deviations(Mine)) == []
    Mine().test_contract_is_complete()


def test_deleted_and_replaced_tests_are_named():
    class Mine(Whole):
        test_one = None

        def test_two(self):
            pass

    assert list(deviations(Mine)) == [
        "Mine.test_two was replaced without a reason",
        "Mine.test_one was deleted",
    ]
    with pytest.raises(AssertionError, match="test_one was deleted"):
        Mine().test_contract_is_complete()


def test_replacement_with_a_reason_is_fine():
    class Mine(Whole):
        @deviates("two means something else here")
        def test_two(self):
            pass

    class Mine2(Mine):
        pass

    assert list(deviations(Mine2)) == []


def test_deleting_the_guard_is_noticed_by_whoever_asks():
    class Mine(Whole):
        test_contract_is_complete = None

    assert list(deviations(Mine)) == ["Mine.test_contract_is_complete was deleted"]


def test_reason_must_say_something():
    with pytest.raises(ValueError, match="reason"):
        deviates("  ")
