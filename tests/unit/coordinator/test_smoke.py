from group_world import World


def test_smoke() -> None:
    world = World(initial_rebalance_delay_ms=3000)
    a, b, c = world.stable_group(3)
    assert world.state() == "Stable"
    assert a.generation_id == 1
