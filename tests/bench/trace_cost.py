"""What the trace costs a warm round trip: one server without, one with it in files, asked in turn in one run."""

import contextlib
import statistics
import tempfile
import time

BLOCK = 50


def block(client, container):
    times = []
    for _ in range(BLOCK):
        start = time.perf_counter()
        client.execute(container, "1+1")
        times.append(time.perf_counter() - start)
    return times


def rows(server, client_of, rounds):
    """Rows for figure(): name, value, unit, at_most."""
    kinds = ["off", "second", "always"]
    times = {kind: [] for kind in kinds}
    ratios = []
    with contextlib.ExitStack() as stack:
        own = stack.enter_context(tempfile.TemporaryDirectory(prefix="test-sandglass-"))
        asked = {}
        for kind in kinds:
            words = ["--trace", "off"] if kind == "off" else ["--trace", f"{own}/{kind}", "--trace-sync", kind]
            port, _ = stack.enter_context(server(*words))
            client = client_of(port)
            asked[kind] = client, client.create()
            block(*asked[kind])
        for turn in range(max(10, rounds)):
            median = {}
            # Who comes first changes: what warms up or cools down falls on both.
            for kind in ("off", "second") if turn % 2 else ("second", "off"):
                took = block(*asked[kind])
                times[kind] += took
                median[kind] = statistics.median(took)
            ratios.append(median["second"] / median["off"])
        for _ in range(5):
            times["always"] += block(*asked["always"])
    name = "1+1 in a session, p50, "
    return [
        (name + "no trace", statistics.median(times["off"]) * 1000, "ms"),
        (name + "trace in files", statistics.median(times["second"]) * 1000, "ms"),
        ("  the latter / the former, median of blocks", statistics.median(ratios), "x", 1.03),
        (name + "trace, each on disk first", statistics.median(times["always"]) * 1000, "ms"),
    ]
