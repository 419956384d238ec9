"""Times ipykernel through jupyter_client: prints {"first_ms": ..., "warm_ms": ...}. Debian's python3-ipykernel
and python3-jupyter-client. Exit status 3: they are not here."""

import json
import statistics
import sys
import time

FIRST = "import pandas as pd; 1+1"


def main():
    try:
        import ipykernel  # noqa: F401  the kernel is a process of its own
        from jupyter_client.manager import start_new_kernel
    except ImportError as error:
        print(error, file=sys.stderr)
        return 3
    start = time.perf_counter()
    manager, client = start_new_kernel(kernel_name="python3")
    try:
        client.execute_interactive(FIRST, output_hook=lambda _: None, timeout=60)
        first = time.perf_counter() - start
        times = []
        for _ in range(100):
            start = time.perf_counter()
            client.execute_interactive("1+1", output_hook=lambda _: None, timeout=60)
            times.append(time.perf_counter() - start)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    print(json.dumps({"first_ms": first * 1000, "warm_ms": statistics.median(times) * 1000}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
