"""Certificates for tests of TLS, made with the openssl command."""
import os
import subprocess


def openssl(*words, **more):
    done = subprocess.run(["openssl", *map(str, words)], capture_output=True, text=True, **more)
    assert done.returncode == 0, done.stderr


class Certificates:
    """An authority (ca.pem) in a directory, and certificates that it signs. Each name is a pair of files, NAME.pem and
    NAME.key."""

    def __init__(self, directory):
        self.directory = str(directory)
        self.self_signed("ca", "DNS:authority.example")

    def path(self, name):
        return os.path.join(self.directory, name)

    def make_key(self, name):
        openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", self.path(name + ".key"))

    def self_signed(self, name, names):
        self.make_key(name)
        openssl("req", "-x509", "-new", "-key", self.path(name + ".key"), "-out", self.path(name + ".pem"), "-days", 30,
                "-subj", f"/CN={name}", "-addext", f"subjectAltName={names}")

    def signed(self, name, names, days=30):
        """names: as for subjectAltName, such as DNS:localhost,IP:127.0.0.1. Negative days: expired."""
        self.make_key(name)
        with open(self.path(name + ".ext"), "w") as f:
            f.write(f"subjectAltName={names}\n")
        openssl("req", "-new", "-key", self.path(name + ".key"), "-out", self.path(name + ".csr"),
                "-subj", f"/CN={name}")
        openssl("x509", "-req", "-in", self.path(name + ".csr"), "-CA", self.path("ca.pem"), "-CAkey",
                self.path("ca.key"), "-CAcreateserial", "-days", days, "-extfile", self.path(name + ".ext"),
                "-out", self.path(name + ".pem"))

    def server_options(self, name, port, *more):
        """Of a Redis server with this certificate on a second port."""
        return ("--tls-port", str(port), "--tls-cert-file", self.path(name + ".pem"), "--tls-key-file",
                self.path(name + ".key"), "--tls-ca-cert-file", self.path("ca.pem"), "--tls-auth-clients", "no", *more)
