"""Seeds of the targets that read foreign texts: an engine's, an installer's, an operator's, a store's
(tests/fuzz/seeds.py).
"""

import json

import seeds_http


def answers():
    """Output of docker for queries."""
    info = {"ServerVersion": "20.10.24", "OperatingSystem": "Debian GNU/Linux 12", "OSType": "linux", "Architecture": "x86_64",
            "KernelVersion": "6.1", "Driver": "overlay2", "CgroupVersion": "1", "CgroupDriver": "cgroupfs", "DefaultRuntime": "runc",
            "Runtimes": {"runc": {"path": "runc"}, "runsc": {}}, "SecurityOptions": ["name=seccomp,profile=default", "name=rootless"],
            "MemoryLimit": True, "SwapLimit": True, "PidsLimit": True, "CpuCfsQuota": True, "MemTotal": 25000000000, "NCPU": 2}
    components = [{"Name": "Engine", "Version": "20.10.24"}, {"Name": "containerd", "Version": "1.6", "Details": {"GitCommit": "abc"}},
                  {"Name": "runc", "Version": "1.1.5", "Details": {"GitCommit": "v1.1.5"}}]
    version = {"Client": {"Version": "20.10"}, "Server": {"Platform": {"Name": "Docker Engine"}, "Version": "20.10.24", "ApiVersion": "1.41",
                                                          "Components": components}}
    network = {"Name": "husk", "Driver": "bridge", "Internal": False,
               "Options": {"com.docker.network.bridge.enable_icc": "false", "com.docker.network.bridge.name": "husk0"}}
    return {
        "client": b"Docker version 20.10.24+dfsg1, build 297e128\n",
        "place": b'["default","unix:///var/run/docker.sock"]\n',
        "far": b'["far","ssh://user@host"]\n',
        "version": json.dumps(version).encode(),
        "info": json.dumps(info).encode(),
        "image": json.dumps([516941405, "amd64", {"husk.deps": "k"}, "sha256:" + "a" * 64, {"/data": {}}]).encode(),
        "network": json.dumps(network).encode(),
        "containers": b'["husk-abc","running","owner","2026-11-15 10:00:00 +0000 UTC"]\n["x","exited","",""]\n',
        "containers-tabs": b"husk-abc\trunning\towner\t2026-11-15 10:00:00 +0000 UTC\nhusk-def\texited\t\t1\n",
        "container": b"[true,0,false,4711]\n",
        "stats": b'["husk-abc","12.5MiB / 1GiB"]\nhusk-abc\t12.5MiB / 1GiB\n',
        "fence": b"kept\n",
    }


def report():
    return {
        "report": b'{"versions":{"numpy":"2.1.0","six":"1.16"},"size":12345}',
        "empty": b'{"versions":{},"size":0}',
        "odd": '{"versions":{"\u202eevil":"1\u27e6note\u27e7","a\\u0000b":""},"size":-1}'.encode(),
        "not-strings": b'{"versions":{"a":1},"size":1}',
        "labels": b'husk.deps=key\nhusk.versions={"six":"1.16"}\nhusk.size=5\nhusk.built=7',
        "labels-bad": b"husk.deps=key\nhusk.versions=[]\nhusk.size=-5\nhusk.built=99999999999999999999",
        "urls": b"https://user:secret@host/simple https://s3cret:x@other/",
    }


def requirements():
    return {
        "script": b"#!/usr/bin/env python\n# /// script\n# requires-python = '>=3.11'\n# dependencies = [\n#   \"requests<3; os_name == 'posix'\",\n"
                  b"#   'pandas[excel] >= 2, < 3', # why\n# ]\n# ///\nimport requests\n",
        "file": b"# all\nrequests>=2 # http\nflask == 3.0 ; python_version < '3'\nx[a,b]~=1.0;(sys_platform=='linux')\n",
        "package": b'{"dependencies": {"lodash": "^4", "@a/b": "*"}}',
        "marker": b"python_version >= '3.9' and (sys_platform not in \"win32 darwin\" or '3.13.2' <= python_full_version) and extra == ''",
        "versions": b"python_version ~= 'v1!3.13rc1.post2.dev3' or python_version == '3.*' or python_version === '3+Local-1' or os.name<'a'",
        "nested": b"((((((((((((((((((((((((((((((((os_name == 'posix'))))))))))))))))))))))))))))))))",
    }


def settings():
    return {
        "plain": b"CONTAINER_MEMORY=1g\nCONTAINER_CPUS=0.5\nexport MAX_STDOUT_CHARS=100 # some\n# comment\nNAME='quoted # value'\n",
        "sizes": b"CONTAINER_MEMORY=999999999999999999999g\nCONTAINER_CPUS=1e9\nSESSION_IDLE_TTL=-1\n",
        "lists": b"IMPORT_ALLOWED_DIRS=/a:/b::/c\nWARM_POOL=python:2,node:1\nNETWORK_ALLOW=10.0.0.0/8,[::1]/128,all\n",
        "broken": b"=x\nNAME\n\"\n'=\"'\n",
        "quotes": b"A=\"\nB='\nC=\"x\nD=''\nE= \"a\" b\n",
        "network": b"192.168.0.0/16",
        "url": b"http://user:pass@[fe80::1]:8080/path",
        "proxy": b"socks5h://proxy.example:1080",
    }


def stored():
    """The first byte is the number of runs."""
    outputs = [{"output_type": "stream", "name": "stdout", "text": ["a\n", "b"]},
               {"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": {"text/plain": "2"}},
               {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["t"]}]
    return {
        "outputs": b"\x02" + json.dumps(outputs).encode(),
        "limits": b'\x00{"memory":1073741824,"cpu_quota":100000,"pids":256,"tmpfs":1,"home":5,"network":true}',
        "odd-limits": b'\x01{"memory":-1,"cpu_quota":1e9,"pids":"x","home":9223372036854775807}',
        "code": b"\x04print(1)\n# %% [markdown]\n",
        "cause": b"\x01lifetime",
        "deep": b"\x03" + b"[" * 500 + b"]" * 500,
    }


def repl():
    return {
        "python": b'def f(x):\n    return (x +\n        1)\n\nif True:\n    pass\nelse: """a\nb"""\n@d\nclass A: pass\n%%bash\nls\n',
        "javascript": b"const a = `x ${ {b: `y`} } z`\nif (a) {\n  f(/re[/]/g) // c\n} else\n  g()\n/* open\n */ x =>\n1\n",
        "r": b'f <- function(x) {\n  x %>% g()\n}\nr"---(raw)---"\nif (a) b else\n  c\nx +\n1\n',
        "matches": "alpha\nalphabet\nalpine\nal\u00e9\nal\u6f22\u5b57\n".encode(),
        "brackets": b"(" * 600 + b"\n" + b"]})" * 50,
        "file": b"open('/tmp/a b'\"$x`",
    }


def names():
    return {
        "relative": b"data/a.csv",
        "dots": b"/workspace/../etc/./passwd",
        "home": b"/home/sandbox/.config/x",
        "slashes": b"//tmp///a//",
        "odd": b"/tmp/a\x1b[2J\n\xff\xe2\x80\xae.tar.gz",
        "long": b"x" * 300 + "\u00e9".encode() * 50 + b".jpeg",
        "nothing": b"..",
    }


def connection():
    file = {"shell_port": 1, "iopub_port": 2, "stdin_port": 3, "control_port": 4, "hb_port": 5, "ip": "127.0.0.1", "key": "k" * 32,
            "transport": "tcp", "signature_scheme": "hmac-sha256", "kernel_name": "husk"}
    return {
        "tcp": json.dumps(file).encode(),
        "ipc": json.dumps({**file, "transport": "ipc", "ip": "/run/kernel"}).encode(),
        "far": json.dumps({**file, "ip": "0.0.0.0"}).encode(),
        "no-key": json.dumps({**file, "key": ""}).encode(),
        "ports": json.dumps({**file, "shell_port": 65536, "hb_port": -1}).encode(),
        "scheme": json.dumps({**file, "signature_scheme": "hmac-md5"}).encode(),
        "list": b"[]",
    }


# First bytes that say how the rest is cut (tests/fuzz/fuzz.h).
WHOLE, CUT = b"\x00", b"\x07"


def vt():
    return {
        "line": WHOLE + b"one\r\nName? Bob\r\n\x1b[31mred\x1b[0m",
        "screen": CUT + b"\x1b[?1049h\x1b[H\x1b[2Jtop\x1b[4;1Hbottom<Up><Ctrl-C>\x1b[?1049l",
        "odd": WHOLE + b"\x1b#8\x1b[5S\x1b[?1h<F5>\xe6\x97\xa5\xff\x1b[999;999H<Lt><NoEnter>",
        "scroll": CUT + b"".join(b"%d\r\n" % i for i in range(60)),
    }


TARGETS = {function.__name__: function for function in (answers, connection, names, repl, report, requirements, settings, stored, vt)}
TARGETS.update(seeds_http.TARGETS)
