# SPDX-License-Identifier: MIT
"""What the kernel holds for the sockets of a process, as sock_diag tells it: what a control group with a memory controller, which
there need not be here, charges to their owner."""

import os
import re
import socket
import struct

NLM_F_REQUEST, NLM_F_DUMP, NLMSG_DONE = 1, 0x300, 3
NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY = 4, 20
INET_DIAG_SKMEMINFO, UNIX_DIAG_MEMINFO, UDIAG_SHOW_MEMINFO = 7, 5, 0x20


def dump(request, header, inode_at, attribute):
    """Inode → what <linux/sock_diag.h> lists from SK_MEMINFO_RMEM_ALLOC on."""
    found = {}
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as s:
        s.send(struct.pack("=IHHII", 16 + len(request), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP, 0, 0) + request)
        while True:
            data = s.recv(1 << 16)
            while data:
                size, kind = struct.unpack_from("=IH", data)
                if kind == NLMSG_DONE:
                    return found
                if kind != SOCK_DIAG_BY_FAMILY:
                    raise OSError("sock_diag: message of type %d" % kind)
                inode, = struct.unpack_from("=I", data, 16 + inode_at)
                at = 16 + header
                while at < size:
                    n, name = struct.unpack_from("=HH", data, at)
                    if name == attribute:
                        found[inode] = struct.unpack_from("=8I", data, at + 4)
                    at += (n + 3) & ~3
                data = data[(size + 3) & ~3:]


def socket_memory(pid):
    """Bytes: received and not read, sent and not taken, and what is set aside for more."""
    links = (os.readlink(f.path) for f in os.scandir("/proc/%d/fd" % pid))
    mine = {int(m[1]) for m in (re.match(r"socket:\[(\d+)\]", link) for link in links) if m}
    tcp = dump(struct.pack("=BBBxI", socket.AF_INET, socket.IPPROTO_TCP, 1 << (INET_DIAG_SKMEMINFO - 1), 0xffffffff) + bytes(48),
               72, 68, INET_DIAG_SKMEMINFO)
    unix = dump(struct.pack("=BBxxIIIII", socket.AF_UNIX, 0, 0xffffffff, 0, UDIAG_SHOW_MEMINFO, 0, 0), 16, 4, UNIX_DIAG_MEMINFO)
    # Of a Unix socket, what has been sent is the sender's.
    return (sum(m[0] + m[4] + m[5] for inode, m in tcp.items() if inode in mine) +
            sum(m[2] for inode, m in unix.items() if inode in mine))
