"""A pseudo terminal for tests that look at what a program shows on one."""

import pty
import unittest


def open_terminal():
    """Our descriptor and the program's; the test is skipped where there is no terminal to have (a chroot without
    /dev/pts)."""
    try:
        return pty.openpty()
    except OSError as error:
        raise unittest.SkipTest(f"no terminal: {error}") from None
