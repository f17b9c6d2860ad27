# SPDX-License-Identifier: MIT
"""A real sshd of the test's own, which a sandbox can reach: not by the host's loopback, which is closed to it, but by a socket in its
work tree."""

import socket
import subprocess
import threading

from rigtest import run

PROXY = """
import os, socket, sys, threading
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
def copy(read, write, end):
    while data := read(65536):
        write(data)
    end()
threading.Thread(target=copy, args=(lambda n: os.read(0, n), s.sendall, lambda: s.shutdown(socket.SHUT_WR)), daemon=True).start()
copy(s.recv, lambda data: os.write(1, data), lambda: None)
"""


class Sshd:
    """Lets user dev in with the public keys given (lines of authorized_keys). One connection after the other."""

    def __init__(self, t, work, keys, config=""):
        self.dir = t.tempdir()
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.dir / "host")
        (self.dir / "authorized").write_text("".join(keys))
        (self.dir / "config").write_text("HostKey %s/host\nAuthorizedKeysFile %s/authorized\nStrictModes no\nUsePAM no\n"
                                         "LogLevel VERBOSE\n%s" % (self.dir, self.dir, config))
        self.log = open(self.dir / "log", "w+")
        t.cleanup(self.log.close)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(work / "sshd.sock"))
        self.socket.listen()
        t.cleanup(self.close)
        proxy = t.program(PROXY, directory=work, name="proxy")
        self.options = ["-o", "ProxyCommand=%s %s" % (proxy, work / "sshd.sock"), "-o", "StrictHostKeyChecking=no", "-o",
                        "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", "-o", "BatchMode=yes"]
        self.command = "ssh " + " ".join("'%s'" % o for o in self.options)
        threading.Thread(target=self.serve, daemon=True).start()

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()

    def serve(self):
        while True:
            try:
                s, _ = self.socket.accept()
            except OSError:
                return
            with s:
                subprocess.run(["/usr/sbin/sshd", "-i", "-e", "-f", str(self.dir / "config")], stdin=s, stdout=s, stderr=self.log)

    def said(self):
        self.log.seek(0)
        return self.log.read()
