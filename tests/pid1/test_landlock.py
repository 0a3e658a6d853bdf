"""Landlock separates the kernel and each command: they run as one user, and neither can reach into the other."""
import frames

# Finds the shell of the command that runs next and forges its end: the text of a line that it has not read yet, what it has
# printed, and the state that it leaves to the next command.
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
def test_the_forged_end_of_a_command(box, client):
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
def test_neither_can_trace_the_other(client):
    trace = "ctypes.CDLL(None).ptrace(16, {}, 0, 0)"  # PTRACE_ATTACH
    kernel = client.execute("import ctypes; print(os.getpid())").out.decode().strip()
    assert client.terminal(f"/usr/bin/python3 -c 'import ctypes; print({trace.format(kernel)})'").out == b"-1\n"
    number = client.start(frames.TERMINAL, "echo $$; until [ -e go ]; do sleep 0.01; done")
    shell = client.expect(lambda f: f.call == number and f.type == frames.OUT).payload.decode().strip()
    assert client.execute(f"print({trace.format(shell)})").out == b"-1\n"
    client.execute("open('/workspace/go', 'w').close()")
    assert client.finish(number).ending == "ok"


def test_what_programs_do_goes_on(client):
    """Renames across directories, devices, shared memory, tracing one's own, and a server that the next command ends."""
    writes = "".join(f" && echo x > {path}" for path in ("/dev/null", "/dev/stderr", "/dev/shm/s", "~/h", "/tmp/t", "/opt/husk/deps/d"))
    assert client.terminal("mkdir a b && echo x > a/f && mv a/f b/g && ln b/g a/h && cat a/h && mv a ~/i" + writes + " && rm /dev/shm/s").out == b"x\n"
    client.terminal("setsid sleep 1000 & echo $! > pid")
    assert client.terminal("kill $(cat pid); while kill -0 $(cat pid) 2>/dev/null; do sleep 0.01; done; echo gone").out == b"gone\n"
    own = "import ctypes, os, signal\npid = os.fork()\nif pid == 0: signal.pause()\n" \
        "print(ctypes.CDLL(None).ptrace(16, pid, 0, 0)); os.kill(pid, 9)"
    assert client.terminal(f"/usr/bin/python3 -c '{own}'").out == b"0\n"
    assert client.terminal("echo 0 > /proc/self/oom_score_adj").ending == "error"


def test_nothing_is_typed_into_a_terminal_from_inside(client):
    """The kernel's own refusal, where it has one, is another error (EIO)."""
    code = "import fcntl, termios\ntry: fcntl.ioctl(0, termios.TIOCSTI, b'x')\nexcept OSError as error: print('errno', error.errno)"
    assert b"errno 1\r\n" in client.terminal(f'/usr/bin/python3 -c "{code}"', interactive=True).out
