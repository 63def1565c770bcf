"""A calendar that a test moves, for the programs that clock_shim.c is preloaded into."""

import os
import struct


class Clock:
    """path: a file that all programs with this calendar map. It is made if it is not there (with_postgresql.sh makes its own),
    before any of them starts, and is never replaced.
    """

    def __init__(self, path, *shims):
        self.path, self.shims = path, [os.path.abspath(shim) for shim in shims if shim]
        if not os.path.exists(path):
            with open(path, "xb") as file:
                file.write(bytes(8))
            os.chmod(path, 0o644)  # `serve` may run as another user than the tests
        self.set(0)

    def set(self, seconds):
        """The calendar is this many seconds ahead of the machine's, at once."""
        with open(self.path, "r+b", buffering=0) as file:
            file.write(struct.pack("=q", seconds))

    def environment(self):
        """For the programs that follow this calendar; without the library they cannot."""
        shims = [shim for shim in self.shims if os.path.isfile(shim)]
        return {"LD_PRELOAD": ":".join(shims), "CLOCK_SHIM_FILE": self.path} if shims else {}
