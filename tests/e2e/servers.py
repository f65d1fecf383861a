"""Private servers on loopback ports, in their own directories; they stop when the tests end.

PostgreSQL refuses to run as root, so root starts it as an unprivileged user."""
import glob
import os
import pwd
import random
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def steady_port():
    """A port for a server that is killed and restarted. It is outside the range of client ports, so no connection
    takes it in the meantime, and no client connects to itself."""
    while True:
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", random.SystemRandom().randrange(15000, 32000)))
                return s.getsockname()[1]
            except OSError:
                continue


def unprivileged():
    """Returns the words before a command that run it as another user, and that user's name."""
    if os.getuid() != 0:
        return [], None
    for name in "postgres", "nobody":
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"], user
    raise RuntimeError("there is no unprivileged user to run PostgreSQL")


def children(pid):
    """The child processes."""
    found = []
    for stat in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(stat) as f:
                text = f.read()
        except OSError:
            continue
        if int(text.rpartition(")")[2].split()[1]) == pid:
            found.append(int(text.split()[0]))
    return found


class Server:
    """A server process: start, kill, start again."""

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="weir-")
        self.port = self.choose_port()
        self.process = None

    def choose_port(self):
        return free_port()

    def start(self):
        self.process = subprocess.Popen(self.command(), stdout=subprocess.DEVNULL,
                                        stderr=open(os.path.join(self.directory, "log"), "ab"),
                                        cwd=self.directory)
        end = time.time() + 60
        while not self.is_ready():
            assert self.process.poll() is None and time.time() < end, self.log()
            time.sleep(0.02)

    def log(self):
        with open(os.path.join(self.directory, "log")) as log:
            return log.read()

    def kill(self):
        """Kills all its processes at once, as a crash would."""
        if not self.process or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGSTOP)  # so that no requests are pending
        for child in children(self.process.pid):
            os.kill(child, signal.SIGKILL)
        self.process.kill()
        self.process.wait()

    def close(self):
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)


class Postgres(Server):
    """Every user is trusted, except 'locked', whose password is 'open sesame'."""

    def __init__(self, programs=None, settings=()):
        super().__init__()
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb")) or [shutil.which("initdb")]
        assert found[-1], "PostgreSQL is not here; scripts/setup test installs it"
        self.bin = programs or os.path.dirname(found[-1])
        self.settings = [word for setting in settings for word in ("-c", setting)]
        self.as_user, user = unprivileged()
        os.chmod(self.directory, 0o755)
        if user:
            os.chown(self.directory, user.pw_uid, user.pw_gid)
        self.data = os.path.join(self.directory, "data")
        done = subprocess.run([*self.as_user, self.bin + "/initdb", "-D", self.data, "-U", "weir", "-A", "trust",
                               "-E", "UTF8", "--locale=C", "--no-sync"], capture_output=True, text=True,
                              cwd=self.directory)
        assert done.returncode == 0, done.stderr
        with open(os.path.join(self.data, "pg_hba.conf"), "w") as hba:
            hba.write("host all locked 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n")
        self.start()
        self.sql("CREATE USER locked PASSWORD 'open sesame'")

    def command(self):
        return [*self.as_user, self.bin + "/postgres", "-D", self.data, "-p", str(self.port),
                "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off",
                "-c", "shared_buffers=8MB", "-c", "max_connections=20", "-c", "autovacuum=off",
                *self.settings]

    def is_ready(self):
        return subprocess.run([self.bin + "/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)],
                              check=False).returncode == 0

    def sql(self, text):
        done = subprocess.run([self.bin + "/psql", "-qAt", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p",
                               str(self.port), "-U", "weir", "postgres"], input=text, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def load(self, table, keys):
        self.sql(f"CREATE TABLE {table} (k text PRIMARY KEY);\nCOPY {table} FROM STDIN;\n"
                 + "".join(key + "\n" for key in keys) + "\\.\n")

    def url(self, table="t", column="k", user="weir", host="127.0.0.1", database="postgres", more=""):
        return f"postgres://{user}@{host}:{self.port}/{database}?table={table}&column={column}{more}"


class Redis(Server):
    def __init__(self, *more):
        super().__init__()
        assert shutil.which("redis-server"), "Redis is not here; scripts/setup test installs it"
        self.more = more
        self.start()

    def command(self):
        return ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
                "--daemonize", "no", *self.more]

    def is_ready(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as s:
                s.sendall(b"PING\r\n")
                return s.recv(64)[:1] in b"+-"
        except OSError:
            return False

    def call(self, *commands):
        """Runs commands, each a list of words; returns the first line of each reply."""
        with socket.create_connection(("127.0.0.1", self.port), 20) as s:
            replies = s.makefile("rb")
            answers = []
            for words in commands:
                words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
                s.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
                answers.append(replies.readline())
            return answers

    def load(self, key, members, database=0):
        members = list(members)
        commands = [["SELECT", database], ["DEL", key]]
        commands += [["SADD", key, *members[i:i + 1000]] for i in range(0, len(members), 1000)]
        for answer in self.call(*commands):
            assert not answer.startswith(b"-"), answer

    def url(self, key="t", user="", more=""):
        return f"redis://{user}127.0.0.1:{self.port}/{key}{more}"


class Mute:
    """A server that accepts connections and never replies."""

    def __init__(self):
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.socket.listen(16)
        self.port = self.socket.getsockname()[1]
        self.taken = []
        self.thread = threading.Thread(target=self.take, daemon=True)
        self.thread.start()

    def take(self):
        try:
            while True:
                self.taken.append(self.socket.accept()[0])
        except OSError:
            pass

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        for taken in self.taken:
            taken.close()


class Rude(Mute):
    """A server that resets each connection immediately, so the client's next write fails."""

    def take(self):
        try:
            while True:
                called = self.socket.accept()[0]
                called.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                called.close()
        except OSError:
            pass


class Scripted(Mute):
    """A server that handles each connection with a function, in one thread each."""

    def __init__(self, answer):
        self.answer = answer
        super().__init__()

    def take(self):
        try:
            while True:
                called = self.socket.accept()[0]
                self.taken.append(called)
                threading.Thread(target=self.serve, args=(called,), daemon=True).start()
        except OSError:
            pass

    def serve(self, called):
        try:
            self.answer(called)
        except OSError:
            pass
        finally:
            called.close()


def redis_commands(called):
    """Yields the words of each command of a client."""
    stream = called.makefile("rb")
    while line := stream.readline():
        words = []
        for _ in range(int(line[1:])):
            size = int(stream.readline()[1:])
            words.append(stream.read(size + 2)[:-2])
        yield words


def scripted_redis(replies):
    """A fake Redis server: a function turns the words of a command into a reply."""
    def answer(called):
        for words in redis_commands(called):
            called.sendall(replies(words))

    return Scripted(answer)


def postgres_message(kind, body):
    return kind + struct.pack("!i", len(body) + 4) + body


def echoing_postgres(form="%s"):
    """A fake PostgreSQL server that requires the password in plain text, and repeats it with the user name in its
    error."""
    def answer(called):
        startup = called.recv(4096)
        if startup[4:8] == struct.pack("!i", 80877103):  # SSL request
            called.sendall(b"N")
            startup = called.recv(4096)
        user = startup[8:].split(b"\0")[1]
        called.sendall(postgres_message(b"R", struct.pack("!i", 3)))
        password = called.recv(4096)[5:].rstrip(b"\0")
        told = (form % (user.decode() + ":" + password.decode())).encode()
        called.sendall(postgres_message(b"E", b"SFATAL\0C28P01\0M" + told + b"\0\0"))

    return Scripted(answer)
