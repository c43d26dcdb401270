"""What the machine offers to this process."""

import os


def available_cores() -> int:
    """The number of cores that this process may use; where the system does not tell, all of them."""
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):  # macOS and Windows have no such call
        return os.cpu_count() or 1
