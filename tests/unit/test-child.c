/* base/child: exit, signals, capture with caps, deadlines for whole process groups, stdin, and children that outlive us. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/child.h"
#include "tests/unit/unit.h"

struct run {
	struct loop *loop;
	struct child *child;
	struct timer *timer;
	int done;
	int exit_status, signal;
	bool timed_out, truncated, free_inside;
	char *out, *err;
	size_t out_len;
	struct buf streamed;
	uint64_t began, took;
};

static void on_done(void *ctx, const struct child_result *result)
{
	struct run *r = ctx;
	r->done++;
	r->exit_status = result->exit_status;
	r->signal = result->signal;
	r->timed_out = result->timed_out;
	r->truncated = result->truncated;
	r->out = xstrdup(result->out);
	r->out_len = result->out_len;
	r->err = xstrdup(result->err);
	r->took = loop_now_ms() - r->began;
	assert_int_equal(result->out[result->out_len], 0);
	if (r->free_inside)
		r->child = child_free(r->child);
	loop_stop(r->loop, 0);
}

static void on_stdout(void *ctx, const void *data, size_t n)
{
	struct run *r = ctx;
	buf_add(&r->streamed, data, n);
}

/* Starts `sh -c script`; spec may be NULL. */
static void start(struct run *r, const char *script, const struct child_spec *spec)
{
	struct child_spec s = spec ? *spec : (struct child_spec){ 0 };
	char *argv[] = { "sh", "-c", (char *)script, NULL };
	AUTO(fail_release) struct fail f = { 0 };
	*r = (struct run){ .loop = loop_new(), .began = loop_now_ms(), .free_inside = r->free_inside };
	s.argv = argv;
	s.on_done = on_done;
	s.ctx = r;
	assert_int_equal(child_start(r->loop, &s, &r->child, &f), 0);
	assert_int_equal(r->done, 0); /* the callback never runs inside the start */
}

static void run(struct run *r, const char *script, const struct child_spec *spec)
{
	start(r, script, spec);
	loop_run(r->loop);
	assert_int_equal(r->done, 1);
}

static void run_release(struct run *r)
{
	child_free(r->child);
	timer_free(r->timer);
	loop_free(r->loop);
	free(r->out);
	free(r->err);
	buf_release(&r->streamed);
}

static void captures_both_streams_and_the_status(void **state)
{
	struct run r = { 0 };
	run(&r, "echo out; echo err >&2; exit 3", NULL);
	assert_int_equal(r.exit_status, 3);
	assert_int_equal(r.signal, 0);
	assert_string_equal(r.out, "out\n");
	assert_string_equal(r.err, "err\n");
	assert_false(r.timed_out);
	assert_false(r.truncated);
	run_release(&r);
}

static void reports_signals(void **state)
{
	struct run r = { 0 };
	run(&r, "kill -9 $$", NULL);
	assert_int_equal(r.exit_status, -1);
	assert_int_equal(r.signal, SIGKILL);
	run_release(&r);
}

static void reads_nothing_from_our_stdin(void **state)
{
	struct run r = { 0 };
	run(&r, "cat; echo end", NULL);
	assert_string_equal(r.out, "end\n");
	run_release(&r);
}

static void inherits_no_descriptor(void **state)
{
	struct run r = { 0 };
	int fds[2];
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	run(&r, "for f in 3 4 5 6 7 8 9; do [ -e /proc/$$/fd/$f ] && echo $f; done; true", NULL);
	assert_string_equal(r.out, "");
	close(fds[0]);
	close(fds[1]);
	run_release(&r);
}

static void output_beyond_the_limit_is_read_and_dropped(void **state)
{
	struct run r = { 0 };
	run(&r, "head -c 500000 /dev/zero | tr '\\0' x", &(struct child_spec){ .out_max = 1000 });
	assert_int_equal(r.exit_status, 0); /* a full pipe did not kill it */
	assert_int_equal(r.out_len, 1000);
	assert_true(r.truncated);
	run_release(&r);
}

static void streams_when_asked(void **state)
{
	struct run r = { 0 };
	run(&r, "printf abc; printf def", &(struct child_spec){ .on_stdout = on_stdout });
	assert_string_equal(buf_str(&r.streamed), "abcdef");
	assert_string_equal(r.out, "");
	run_release(&r);
}

static void a_deadline_kills_the_whole_group(void **state)
{
	struct run r = { 0 };
	run(&r, "echo before; sleep 30 & sleep 30; echo never", &(struct child_spec){ .deadline_ms = 150 });
	assert_true(r.timed_out);
	assert_int_equal(r.signal, SIGKILL);
	assert_string_equal(r.out, "before\n"); /* output so far is kept */
	assert_true(r.took < 5000);		/* the background sleep did not hold the pipe */
	run_release(&r);
}

static void a_grandchild_cannot_hold_the_pipe_for_ever(void **state)
{
	struct run r = { 0 };
	run(&r, "echo a; setsid sleep 3 & exit 0", NULL);
	assert_int_equal(r.exit_status, 0);
	assert_string_equal(r.out, "a\n");
	assert_true(r.took < 2500);
	run_release(&r);
}

static void takes_input(void **state)
{
	struct run r = { 0 };
	start(&r, "tr a-z A-Z", &(struct child_spec){ .stdin_pipe = true });
	assert_int_equal(child_write(r.child, "hello ", 6), 0);
	assert_int_equal(child_write(r.child, "there", 5), 0);
	child_close_stdin(r.child);
	assert_int_equal(child_write(r.child, "x", 1), -EPIPE);
	loop_run(r.loop);
	assert_string_equal(r.out, "HELLO THERE");
	run_release(&r);
}

static void close_when_written(void *ctx)
{
	struct run *r = ctx;
	if (child_write_queued(r->child) > 0)
		return;
	child_close_stdin(r->child);
	timer_stop(r->timer);
}

static void takes_more_input_than_a_pipe_holds(void **state)
{
	struct run r = { 0 };
	AUTO(freep) char *big = xcalloc(1, 2000000);
	start(&r, "sleep 0.1; wc -c", &(struct child_spec){ .stdin_pipe = true });
	assert_int_equal(child_write(r.child, big, 2000000), 0);
	assert_true(child_write_queued(r.child) > 0);
	r.timer = timer_new(r.loop, close_when_written, &r);
	timer_start(r.timer, 1, 1);
	loop_run(r.loop);
	assert_string_equal(r.out, "2000000\n");
	run_release(&r);
}

static void may_be_freed_from_inside(void **state)
{
	struct run r = { .free_inside = true };
	run(&r, "true", NULL);
	assert_null(r.child);
	run_release(&r);
}

static void stop_when_childless(void *ctx)
{
	struct run *r = ctx;
	siginfo_t info;
	if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD)
		loop_stop(r->loop, 1);
	else if (loop_now_ms() - r->began > 5000)
		loop_stop(r->loop, 2);
}

static void freeing_kills_and_stays_silent(void **state)
{
	struct run r = { 0 };
	start(&r, "sleep 30", NULL);
	r.child = child_free(r.child);
	assert_null(r.child);
	assert_int_equal(loop_run(r.loop), 0); /* the loop does not wait for the child */
	assert_int_equal(r.done, 0);
	r.timer = timer_new(r.loop, stop_when_childless, &r);
	timer_start(r.timer, 1, 1);
	assert_int_equal(loop_run(r.loop), 1); /* the child is still reaped */
	assert_int_equal(r.done, 0);
	run_release(&r);
	assert_null(child_free(NULL));
}

/* The loop is freed at once, as at the end of a server. */
static void a_child_that_is_left_reads_what_was_written(void **state)
{
	char path[] = "/tmp/husk-test-child-XXXXXX";
	char text[16] = "";
	int fd = mkstemp(path);
	struct run r = { 0 };
	AUTO(freep) char *script = xasprintf("sleep 0.1; cat >%s", path);
	start(&r, script, &(struct child_spec){ .stdin_pipe = true });
	assert_int_equal(child_write(r.child, "last words", 10), 0);
	r.child = child_leave(r.child);
	assert_null(r.child);
	run_release(&r);
	assert_int_equal(pread(fd, text, sizeof(text), 0), 10);
	assert_string_equal(text, "last words");
	assert_null(child_leave(NULL));
	close(fd);
	unlink(path);
}

static void a_child_that_is_left_is_killed_soon(void **state)
{
	struct run r = { 0 };
	int status = 0;
	start(&r, "sleep 30", &(struct child_spec){ .stdin_pipe = true });
	r.child = child_leave(r.child);
	loop_skip(r.loop, CHILD_LEAVE_MS);
	r.timer = timer_new(r.loop, stop_when_childless, &r);
	timer_start(r.timer, 1, 1);
	assert_int_equal(loop_run(r.loop), 1);
	assert_int_equal(r.done, 0);
	run_release(&r);
	/* Also if the loop is freed first. */
	start(&r, "sleep 30", &(struct child_spec){ .stdin_pipe = true });
	r.child = child_leave(r.child);
	run_release(&r);
	assert_true(waitpid(-1, &status, 0) < 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
}

static void kill_softly(void *ctx, const void *data, size_t n)
{
	struct run *r = ctx;
	if (r->streamed.len == 0)
		child_kill(r->child, SIGTERM);
	buf_add(&r->streamed, data, n);
}

static void can_be_killed_softly(void **state)
{
	struct run r = { 0 };
	run(&r, "trap 'echo caught; exit 5' TERM; echo ready; while :; do sleep 0.05; done",
	    &(struct child_spec){ .deadline_ms = 20000, .on_stdout = kill_softly });
	assert_string_equal(buf_str(&r.streamed), "ready\ncaught\n");
	assert_int_equal(r.exit_status, 5);
	assert_false(r.timed_out);
	run_release(&r);
}

static void a_missing_program_is_a_failure(void **state)
{
	struct run r = { .loop = loop_new() };
	char *argv[] = { "husk-no-such-program", NULL };
	struct child_spec s = { .argv = argv, .on_done = on_done, .ctx = &r };
	AUTO(fail_release) struct fail f = { 0 };
	assert_int_equal(child_start(r.loop, &s, &r.child, &f), -1);
	assert_int_equal(f.kind, FAIL_ENGINE);
	assert_non_null(strstr(f.message, "husk-no-such-program"));
	assert_null(r.child);
	loop_run(r.loop);
	assert_int_equal(r.done, 0);
	run_release(&r);
}

static void uses_the_environment_it_is_given(void **state)
{
	struct run r = { 0 };
	char *env[] = { "PATH=/usr/bin:/bin", "ONLY=this", NULL };
	run(&r, "echo $ONLY$HOME", &(struct child_spec){ .env = env });
	assert_string_equal(r.out, "this\n");
	run_release(&r);
}

struct await {
	struct loop *loop;
	const char *path;
};

static void stop_when_there(void *ctx)
{
	struct await *a = ctx;
	struct stat st;
	if (stat(a->path, &st) == 0)
		loop_stop(a->loop, 1);
}

/* Forgotten children have no output, keep no descriptor of ours and are not killed with the loop. */
static void forgotten_children_keep_running(void **state)
{
	char dir[] = "/tmp/husk-test-child-XXXXXX";
	assert_non_null(mkdtemp(dir));
	AUTO(freep) char *path = xasprintf("%s/done", dir);
	AUTO(freep) char *script = xasprintf("echo noise; sleep 0.1; : >%s", path);
	char *argv[] = { "sh", "-c", script, NULL };
	AUTO(fail_release) struct fail f = { 0 };
	struct loop *loop = loop_new();
	assert_int_equal(child_spawn_forgotten(loop, argv, NULL, &f), 0);
	assert_int_equal(loop_run(loop), 0); /* the child does not keep the loop alive */
	struct await a = { loop, path };
	struct timer *t = timer_new(loop, stop_when_there, &a);
	timer_start(t, 5, 5);
	assert_int_equal(loop_run(loop), 1);
	timer_free(t);
	char *missing[] = { "husk-no-such-program", NULL };
	assert_int_equal(child_spawn_forgotten(loop, missing, NULL, &f), -1);
	assert_non_null(strstr(f.message, "husk-no-such-program"));
	loop_free(loop);
	unlink(path);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(captures_both_streams_and_the_status),
		cmocka_unit_test(reports_signals),
		cmocka_unit_test(reads_nothing_from_our_stdin),
		cmocka_unit_test(inherits_no_descriptor),
		cmocka_unit_test(output_beyond_the_limit_is_read_and_dropped),
		cmocka_unit_test(streams_when_asked),
		cmocka_unit_test(a_deadline_kills_the_whole_group),
		cmocka_unit_test(a_grandchild_cannot_hold_the_pipe_for_ever),
		cmocka_unit_test(takes_input),
		cmocka_unit_test(takes_more_input_than_a_pipe_holds),
		cmocka_unit_test(may_be_freed_from_inside),
		cmocka_unit_test(freeing_kills_and_stays_silent),
		cmocka_unit_test(a_child_that_is_left_reads_what_was_written),
		cmocka_unit_test(a_child_that_is_left_is_killed_soon),
		cmocka_unit_test(can_be_killed_softly),
		cmocka_unit_test(a_missing_program_is_a_failure),
		cmocka_unit_test(uses_the_environment_it_is_given),
		cmocka_unit_test(forgotten_children_keep_running),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
