"""Landlock separates the kernel and each command: they run as one user, and neither can access the other."""
import frames
from test_consoles import Console

# Finds the shell of the next command and forges its end: the text of a line that it has not read yet, its output, and
# the state that it leaves to the next command.
FORGE = r"""
import glob, os, re, sys, time
log = open('/tmp/forge.log', 'w')
def attempt(name, act):
    try:
        act()
        print(name, 'WORKED', file=log, flush=True)
    except OSError as error:
        print(name, 'refused', file=log, flush=True)
def rewrite(pid):
    with open(f'/proc/{pid}/maps') as maps, open(f'/proc/{pid}/mem', 'r+b', buffering=0) as mem:
        for line in maps:
            begin, end, mode = re.match(r'(\w+)-(\w+) (\S+)', line).groups()
            if not mode.startswith('rw') or '[v' in line:
                continue
            begin, end = int(begin, 16), int(end, 16)
            mem.seek(begin)
            data = mem.read(end - begin)
            for found in re.finditer(b'exit 3', data):
                mem.seek(begin + found.start())
                mem.write(b'exit 0')
def write(path, data):
    with open(path, 'wb', buffering=0) as file:
        file.write(data)
print('ready', flush=True)
while not os.path.exists('/workspace/waiting'):
    time.sleep(0.01)
pid = int(open('/workspace/waiting').read())
attempt('mem', lambda: rewrite(pid))
attempt('stdout', lambda: write(f'/proc/{pid}/fd/1', b'forged\n'))
attempt('state', lambda: write(f'/proc/{pid}/fd/199', b'\0/tmp\0husk-end\0'))
attempt('environ', lambda: open(f'/proc/{pid}/environ').read())
attempt('oom_score_adj', lambda: write(f'/proc/{pid}/oom_score_adj', b'0'))
attempt('own oom_score_adj', lambda: write('/proc/self/oom_score_adj', b'0'))
open('/workspace/go', 'w')
"""


# evidence: landlock
def test_cells_cannot_forge_the_end_of_a_command(box, client):
    assert box.attach().greeting["landlock"] >= 2, "this kernel has no Landlock: nothing is shown here"
    client = box.attach()
    box.write_file("forge.py", FORGE)
    client.execute("import subprocess\n"
                   "p = subprocess.Popen(['/usr/bin/python3', '/workspace/forge.py'], stdout=subprocess.PIPE, start_new_session=True)\n"
                   "p.stdout.readline()")
    reply = client.terminal("echo $$ > w; mv w waiting\nuntil [ -e go ]; do sleep 0.01; done\nexit 3")
    log = client.terminal("pwd; cat /tmp/forge.log").out.decode().splitlines()
    assert log[0] == "/workspace" and len(log) == 7
    assert all(line.endswith("refused") for line in log[1:]), log
    assert (reply.out, reply.end["exit_code"]) == (b"", 3)


# evidence: landlock
def test_cells_and_commands_cannot_trace_each_other(client):
    trace = "ctypes.CDLL(None).ptrace(16, {}, 0, 0)"  # PTRACE_ATTACH
    kernel = client.execute("import ctypes; print(os.getpid())").out.decode().strip()
    assert client.terminal(f"/usr/bin/python3 -c 'import ctypes; print({trace.format(kernel)})'").out == b"-1\n"
    number = client.start(frames.TERMINAL, "echo $$; until [ -e go ]; do sleep 0.01; done")
    shell = client.expect(lambda f: f.call == number and f.type == frames.OUT).payload.decode().strip()
    assert client.execute(f"print({trace.format(shell)})").out == b"-1\n"
    client.execute("open('/workspace/go', 'w').close()")
    assert client.finish(number).ending == "ok"


def test_usual_file_and_process_operations_work(client):
    """Renames across directories, devices, shared memory, tracing one's own child, and a server that the next command
    ends.
    """
    writes = "".join(f" && echo x > {path}" for path in ("/dev/null", "/dev/stderr", "/dev/shm/s", "~/h", "/tmp/t", "/opt/husk/deps/d"))
    assert client.terminal("mkdir a b && echo x > a/f && mv a/f b/g && ln b/g a/h && cat a/h && mv a ~/i" + writes + " && rm /dev/shm/s").out == b"x\n"
    client.terminal("setsid sleep 1000 & echo $! > pid")
    assert client.terminal("kill $(cat pid); while kill -0 $(cat pid) 2>/dev/null; do sleep 0.01; done; echo gone").out == b"gone\n"
    own = "import ctypes, os, signal\npid = os.fork()\nif pid == 0: signal.pause()\n" \
        "print(ctypes.CDLL(None).ptrace(16, pid, 0, 0)); os.kill(pid, 9)"
    assert client.terminal(f"/usr/bin/python3 -c '{own}'").out == b"0\n"
    assert client.terminal("echo 0 > /proc/self/oom_score_adj").ending == "error"


# evidence: terminals
def test_programs_cannot_type_into_a_terminal(client):
    """TIOCSTI fails with EPERM. Kernels that refuse it by themselves return EIO."""
    code = "import fcntl, termios\ntry: fcntl.ioctl(0, termios.TIOCSTI, b'x')\nexcept OSError as error: print('errno', error.errno)"
    assert b"errno 1\r\n" in client.terminal(f'/usr/bin/python3 -c "{code}"', interactive=True).out


# Tries every way to open a terminal. The last one opens neither for reading nor for writing, only for ioctls.
REACH = r"""
import os, termios
def reach(path):
    for name, flags in ('read', os.O_RDONLY), ('write', os.O_WRONLY), ('both', os.O_RDWR), ('command', 3):
        try:
            fd = os.open(path, flags | os.O_NOCTTY | os.O_NONBLOCK)
            if name == 'command':
                termios.tcflush(fd, termios.TCIFLUSH)
            print(name, 'WORKED')
        except (PermissionError, termios.error):
            print(name, 'refused')
"""


# evidence: terminals
def test_cells_and_other_commands_cannot_open_a_terminal(client):
    number = client.start(frames.TERMINAL, "tty; until [ -e go ]; do sleep 0.01; done; echo by name >$(tty); echo again >/dev/stdout;"
                          " echo and >/dev/tty; ls -l /proc/self/fd/1", interactive=True)
    shown = client.expect(lambda f: f.call == number and f.type == frames.OUT).payload.decode()
    path = shown.strip()
    assert path.startswith("/dev/"), shown
    refused = b"read refused\nwrite refused\nboth refused\n"
    tried = client.execute(REACH + f"reach({path!r})").out
    assert tried.startswith(refused), tried
    if client.greeting["landlock"] >= 5:
        assert tried == refused + b"command refused\n"
    client.execute("open('/workspace/go', 'w').close()")
    end = client.finish(number)
    assert b"by name\r\nagain\r\nand\r\n" in end.out and path.encode() in end.out
    # A process that one command leaves behind, and the terminal of the next.
    client.terminal("rm go")
    client.terminal("cat >reach.py <<'END'" + REACH + "import time\nwhile not os.path.exists('/workspace/path'): time.sleep(0.01)\n"
                    "reach(open('/workspace/path').read().strip())\nopen('/workspace/go', 'w')\nEND\n"
                    "setsid /usr/bin/python3 reach.py >reached 2>&1 &")
    reply = client.terminal("tty >p; mv p path; until [ -e go ]; do sleep 0.01; done; cat reached", interactive=True)
    assert reply.out.startswith(refused.replace(b"\n", b"\r\n")), reply.out


# evidence: terminals
def test_cells_cannot_open_a_persons_terminal(client):
    shell = Console(client, "/bin/sh", "-c", "tty; read line; echo $line >$(tty)")
    path = shell.until(b"\r\n").decode().strip()
    assert b"WORKED" not in client.execute(REACH + f"reach({path!r})").out.replace(b"command WORKED", b"")
    shell.type(b"typed\r")
    assert shell.finish()["exit_code"] == 0 and shell.shown == b"typed\r\ntyped\r\n"


def test_cells_and_commands_can_open_new_terminals(client):
    """They can open one by its descriptor, by its name, and as the controlling terminal of a child."""
    code = r"""
import os, pty
master, slave = pty.openpty()
name = os.ttyname(slave)
print(name.startswith('/dev/pts/'))
with open(name, 'w') as again: again.write('by name\n')
pid, child = pty.fork()
if pid == 0:
    os.execv('/bin/sh', ['sh', '-c', 'echo x >/dev/tty; echo y >/dev/stderr; exec <$(tty) && echo z; stty size'])
shown = b''
while True:
    try: piece = os.read(child, 1000)
    except OSError: break
    if not piece: break
    shown += piece
os.waitpid(pid, 0)
print(os.read(master, 100), shown)
"""
    wanted = b"True\nb'by name\\r\\n' b'x\\r\\ny\\r\\nz\\r\\n0 0\\r\\n'\n"
    assert client.execute(code).out == wanted
    client.terminal(f"cat >own.py <<'END'{code}END")
    assert client.terminal("/usr/bin/python3 own.py").out == wanted
    assert client.terminal("/usr/bin/python3 own.py", interactive=True).out == wanted.replace(b"\n", b"\r\n")
