import pytest
from dsh_mnemon_core.errors import LifecycleError
from dsh_mnemon_core.fiber import open_root
from dsh_mnemon_core.profile import Profile, Row
from dsh_mnemon_host import plugin
from dsh_mnemon_host.seat import HostRow


def test_the_row_takes_every_setting_and_names_the_nearest():
    row = HostRow.model_validate({"timeoutMs": 500, "runtimeMemory": {"userLimitBytes": 9}})
    assert row.layer() == {"timeoutMs": 500, "runtimeMemory": {"userLimitBytes": 9}}
    assert HostRow().layer() == {}


async def test_a_wrong_key_fails_the_row_by_name(home):
    rows = (Row(id="mnemon", module="dsh_mnemon_host", config={"timeoutMss": 1}),)
    async with home.open(profile=Profile(rows=rows)) as host:
        [report] = host.profile.report()
        assert report.state == "failed"
        assert "timeoutMs" in report.message


async def test_the_rows_settings_are_the_distributions_layer(home):
    config = {"timeoutMs": 500, "idleReviewMs": 6000}
    rows = (Row(id="mnemon", module="dsh_mnemon_host", config=config),)
    async with home.open(
        profile=Profile(rows=rows), settings="timeoutMs: 700\n", overrides={"idleReviewMs": 7000}
    ) as host:
        chosen = host.live.config.config
        assert chosen.timeout_ms == 700
        assert chosen.idle_review_ms == 7000


async def test_the_row_mounts_only_in_a_host():
    async with open_root() as ctx:
        with pytest.raises(LifecycleError) as caught:
            await ctx.mount(plugin, {})
        assert caught.value.code == "host-seat-missing"
