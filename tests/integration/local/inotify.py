# SPDX-License-Identifier: MIT
"""Just enough of inotify(7), which the standard library lacks."""

import ctypes
import os
import select
import struct
import time

IN_OPEN = 0x20
PATIENCE = 20

_libc = ctypes.CDLL(None, use_errno=True)


class Watch:
    def __init__(self, directory, mask):
        self.fd = _libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        assert _libc.inotify_add_watch(self.fd, os.fsencode(directory), mask) >= 0, os.strerror(ctypes.get_errno())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)

    def drain(self):
        """The names that are reported by now; "" for the directory itself."""
        try:
            data = os.read(self.fd, 65536)
        except BlockingIOError:
            return []
        names = []
        while data:
            length = struct.unpack_from("iIII", data)[3]
            names.append(os.fsdecode(data[16:16 + length].rstrip(b"\0")))
            data = data[16 + length:]
        return names

    def until(self, name):
        """The names up to the batch that has `name`."""
        names = []
        deadline = time.monotonic() + PATIENCE
        while name not in names:
            ready, _, _ = select.select([self.fd], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"never opened: {name}; opened: {names}"
            names += self.drain()
        return names
