"""A pseudo terminal, for tests of what a program shows on one."""

import pty
import unittest


def open_terminal():
    """Our descriptor and the program's. Skips the test where no pseudo terminal can be opened (a chroot without
    /dev/pts)."""
    try:
        return pty.openpty()
    except OSError as error:
        raise unittest.SkipTest(f"no terminal: {error}") from None
