"""Shell commands: what persists, what keeps running, how they end."""
import subprocess
import time

import frames


def test_exit_codes_and_streams(client):
    reply = client.terminal("echo out; echo err >&2; exit 3")
    assert reply.ending == "error" and reply.end["exit_code"] == 3 and "signal" not in reply.end
    assert reply.out == b"out\n" and reply.err == b"err\n"
    assert client.terminal("true").ending == "ok"
    assert client.terminal("false\ntrue").end["exit_code"] == 0


def test_a_shell_that_kills_itself_is_reported(client):
    reply = client.terminal("kill -9 $$")
    assert reply.ending == "error" and reply.end["exit_code"] == 137 and reply.end["signal"] == 9


def test_directory_and_variables_persist(client):
    client.terminal("mkdir -p /tmp/a; cd /tmp/a; export A='line\nline=2' B=; local=1; export -f x 2>/dev/null; exit 7")
    reply = client.terminal("pwd; printf '%s|%s|%s' \"$A\" \"${B-unset}\" \"${local-unset}\"")
    assert reply.out == b"/tmp/a\nline\nline=2||unset"
    client.terminal("unset A; cd -")
    assert client.terminal("pwd; echo ${A-unset}").out == b"/workspace\nunset\n"


def test_the_state_is_kept_if_the_shell_cannot_report_it(client):
    client.terminal("cd /usr; export A=1")
    client.terminal("cd /; export A=2; kill -9 $$")
    assert client.terminal("pwd; echo $A").out == b"/usr\n1\n"
    client.terminal("cd /; export A=2; exec true")
    assert client.terminal("pwd; echo $A").out == b"/usr\n1\n"
    client.terminal("cd /; trap 'echo mine' EXIT")
    assert client.terminal("pwd").out == b"/usr\n"


def test_a_forged_state_is_not_taken(client):
    client.terminal("cd /usr; trap - EXIT; printf 'n\\0relative\\0husk-end\\0' >&199")
    assert client.terminal("pwd").out == b"/workspace\n"
    client.terminal("trap - EXIT; head -c 300000 /dev/zero >&199")
    assert client.terminal("pwd").out == b"/workspace\n"
    client.terminal("trap - EXIT; printf 'n\\0/usr\\0A=1\\0HUSK_X=1\\0bad name=1\\0novalue\\0husk-end\\0' >&199")
    reply = client.terminal("pwd; /usr/bin/env | /usr/bin/sort")
    assert reply.out.startswith(b"/usr\nA=1\n") and b"HUSK_X" not in reply.out and b"bad name" not in reply.out


def test_a_deleted_directory_falls_back_to_the_workspace(client):
    client.terminal("mkdir /workspace/d; cd /workspace/d; rmdir /workspace/d")
    reply = client.terminal("pwd")
    assert reply.out == b"/workspace\n" and b"'/workspace/d' is gone, running in /workspace" in reply.err
    assert client.terminal("pwd").err == b""


def test_text_of_any_length_and_its_line_numbers(client):
    reply = client.terminal("# padding\n" * 100000 + "echo $0 $LINENO; exit 5")
    assert reply.out == b"bash 100001\n" and reply.end["exit_code"] == 5
    reply = client.terminal("echo ok\n\nif then")
    assert reply.out == b"ok\n" and b"line 3" in reply.err and reply.end["exit_code"] == 2
    assert client.terminal("").ending == "ok"
    assert client.terminal("printf %s \"it's \\\"quoted\\\" \\$HOME\"").out == b"it's \"quoted\" $HOME"


def test_a_trace_shows_the_command_and_nothing_of_ours(client):
    for command in ("set -x; true; exit 4", "set -eux; true; exit 4", "set -o xtrace; true; exit 4"):
        reply = client.terminal(command)
        assert reply.err == b"+ true\n+ exit 4\n" and reply.end["exit_code"] == 4
    client.terminal("set -x; cd /tmp; export KEPT=yes")
    reply = client.terminal("echo $PWD $KEPT ${BASH_ENV-none}; cd /workspace")
    assert reply.out == b"/tmp yes none\n"
    assert client.terminal("set -x\necho $0 $LINENO").out == b"bash 2\n"


# Every program that loads it exits with 0.
LIAR = "#include <unistd.h>\nvoid exit(int status) { (void)status; _exit(0); }\n"


# evidence: exit-codes
def test_exported_variables_cannot_change_later_exit_codes(box, client, tmp_path):
    (tmp_path / "liar.c").write_text(LIAR)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "liar.so", tmp_path / "liar.c"], check=True)
    box.write_file("liar.so", (tmp_path / "liar.so").read_bytes())
    box.write_file("rc", "exit 0\n")
    client.terminal("export LD_PRELOAD=/workspace/liar.so LD_AUDIT=/workspace/none.so BASH_ENV=/workspace/rc ENV=/workspace/rc PROMPT_COMMAND='exit 0'")
    box.spare()
    for more in ({}, {"interactive": True}, {"env": {"A": "1"}}):
        assert client.terminal("exit 3", **more).end["exit_code"] == 3, more
        assert client.terminal("set -x; exit 4", **more).end["exit_code"] == 4, more
    reply = client.terminal("echo $LD_PRELOAD $BASH_ENV $ENV; bash -c 'exit 5' 2>/dev/null; echo $?; compgen -A variable HUSK_")
    assert reply.out == b"/workspace/liar.so /workspace/rc /workspace/rc\n0\nHUSK_COMMAND\n", "the command has them"
    client.terminal("unset LD_PRELOAD LD_AUDIT BASH_ENV ENV PROMPT_COMMAND")
    assert client.terminal("bash -c 'exit 5'; echo $?${LD_PRELOAD-}").out == b"5\n"


def test_pkill_does_not_match_the_command_itself(client):
    client.terminal("sleep 4321 & until pgrep -f 'sleep 432[1]'; do sleep 0.01; done")
    assert client.terminal("pkill -f 'sleep 432[1]' && echo ended; ! pkill -f 'sleep 4321'").out == b"ended\n"


def test_process_substitutions_are_waited_for(client):
    reply = client.terminal("echo text > >(while [ -e /proc/$$ ]; do sleep 0.01; done; cat)")
    assert reply.ending == "ok" and reply.out == b"text\n"


def test_process_substitutions_of_a_script_are_waited_for(client):
    client.terminal("printf 'exec > >(sed s/a/b/)\\necho aaa\\n' >/workspace/script")
    for _ in range(5):
        assert client.terminal("bash /workspace/script").out == b"baa\n"


def test_a_process_substitution_ends_with_the_time_limit(client):
    reply = client.terminal("echo text > >(cat; sleep 6543)", timeout_ms=500)
    assert reply.ending == "timeout" and reply.out == b"text\n"
    assert client.terminal("pgrep -f 'sleep 654[3]'").end["exit_code"] == 1


def test_a_background_job_that_was_fed_is_not_waited_for(client):
    reply = client.terminal("echo yes | (cat; sleep 5432) & until pgrep -f '^sleep 543[2]' >/dev/null; do sleep 0.01; done", timeout_ms=60000)
    assert reply.ending == "ok" and reply.out == b"yes\n"
    reply = client.terminal("tail -f /dev/null | cat - & pkill -f 'sleep 543[2]' && echo ended", timeout_ms=60000)
    assert reply.ending == "ok" and reply.out == b"ended\n"


def test_stdin_is_empty(client):
    assert client.terminal("cat; read x; echo $?").out == b"1\n"


# evidence: timeouts
def test_timeout_ends_the_whole_session(client):
    began = time.monotonic()
    reply = client.terminal("echo partial; (trap '' TERM; sleep 1234) & sleep 5678", timeout_ms=300)
    assert reply.ending == "timeout" and reply.out == b"partial\n" and time.monotonic() - began < 3
    assert client.terminal("pgrep -f 'sleep (1234|5678)'").end["exit_code"] == 1


# evidence: timeouts
def test_timeout_of_a_shell_that_ignores_sigterm(client):
    reply = client.terminal("trap '' TERM; echo x; while :; do :; done", timeout_ms=200)
    assert reply.ending == "timeout" and reply.end["signal"] == 9 and reply.end["exit_code"] == 137


def test_interrupt(client):
    number = client.start(frames.TERMINAL, "echo go; sleep 100")
    client.expect(lambda f: f.type == frames.OUT)
    client.send(frames.INTERRUPT, number)
    end = client.expect(lambda f: f.type == frames.END).payload
    assert end["ending"] == "interrupted"
    assert client.terminal("echo next").out == b"next\n"


def test_background_jobs_keep_running_and_their_output_follows(client):
    reply = client.terminal("(while [ ! -e /workspace/go ]; do sleep 0.01; done; "
                            "for i in $(seq 3000); do echo line $i; done; touch /workspace/done; sleep 500) &")
    assert reply.ending == "ok" and reply.end["duration_ms"] < 2000
    reply = client.terminal("touch /workspace/go; while [ ! -e /workspace/done ]; do sleep 0.01; done; echo mine")
    assert reply.out.count(b"line") == 3000 and b"mine\n" in reply.out
    assert client.terminal("pgrep -f 'sleep 500'").ending == "ok"


def test_late_output_of_a_background_job(client):
    client.terminal("(while [ ! -e /workspace/go ]; do sleep 0.01; done; echo late; touch /workspace/done) &")
    client.execute("open('/workspace/go', 'w')\nwhile not os.path.exists('/workspace/done'): time.sleep(0.01)")
    assert client.terminal("echo now").out == b"late\nnow\n"


def test_o_nonblock_does_not_leak(client):
    client.terminal("/usr/bin/python3 -c 'import os; os.set_blocking(1, False)'")
    assert client.terminal("/usr/bin/python3 -c 'import os; print(os.get_blocking(1))'").out == b"True\n"


def test_orphans_are_reaped(client):
    client.terminal("for i in $(seq 50); do (sh -c 'exit 0' & exec true) & done; wait")
    reply = client.terminal("for i in 1 2 3 4 5 6 7 8 9 10; do ps -e -o stat= | grep -c ^Z; sleep 0.05; done | tail -1")
    assert reply.out == b"0\n"


def test_a_missing_workspace(make_box):
    box = make_box()
    client = box.attach()
    client.terminal("mkdir /tmp/x; cd /tmp/x")
    reply = client.terminal("rm -rf /tmp/x; pwd")
    assert reply.out == b"/tmp/x\n"
    assert client.terminal("pwd").out == b"/workspace\n"


# evidence: env-values
def test_variables_of_one_command_end_with_it(client):
    client.terminal("export BOTH=before")
    reply = client.terminal("echo $ONE $BOTH $CHANGED; export CHANGED=mine; unset GONE; exit 3",
                            env={"ONE": "1", "BOTH": "call", "CHANGED": "x", "GONE": "g"})
    assert reply.out == b"1 call x\n" and reply.end["exit_code"] == 3
    assert client.terminal("echo ${ONE-none} $BOTH $CHANGED ${GONE-none}").out == b"none before mine none\n"
    client.terminal("kill -9 $$", env={"ONE": "1"})
    assert client.terminal("echo ${ONE-none}").out == b"none\n"


def test_a_command_can_have_its_own_directory(client):
    client.terminal("mkdir -p a/b; cd a")
    assert client.terminal("pwd", cwd="/tmp").out == b"/tmp\n"
    assert client.terminal("pwd", cwd="b").out == b"/workspace/a/b\n"
    for home in ("~", "$HOME", "${HOME}/.", "~/."):
        reply = client.terminal("pwd -P", cwd=home)
        assert reply.out == b"/home/sandbox\n", reply.end
    assert client.terminal("pwd; cd /usr", cwd="b").out == b"/workspace/a/b\n"
    assert client.terminal("pwd").out == b"/usr\n", "where the command went itself is kept"


def test_an_invalid_directory_is_refused_and_nothing_runs(client):
    client.terminal("touch file")
    for cwd in ("/nowhere", "file", "/root"):
        reply = client.terminal("touch ran", cwd=cwd)
        assert reply.ending == "refused" and reply.end["cause"] == "no_directory" and cwd in reply.detail
    assert client.terminal("ls").out == b"file\n"
    for cwd in ("", 5, "a\0b"):
        assert client.terminal("touch ran", cwd=cwd).ending == "refused"
    assert client.terminal("ls", env={"A": "x" * (64 << 10)}).ending == "refused"
