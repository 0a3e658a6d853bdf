/* base/lines: the splitter at every cut of its input, and a connection whose reader stalls. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/lines.h"

static void drain(struct line_splitter *s, bool at_end, struct buf *out)
{
	const char *line;
	size_t n;
	for (;;) {
		enum line_status status = line_splitter_next(s, at_end, &line, &n);
		if (status == LINE_NONE)
			return;
		if (status == LINE_READY)
			buf_printf(out, "<%.*s>", (int)n, line);
		else
			buf_add_str(out, "!");
	}
}

/* Feeds the text in pieces of this many bytes. */
static void expect(const char *text, size_t max, size_t piece, const char *want)
{
	struct line_splitter s = { .max = max };
	AUTO(buf_release) struct buf out = { 0 };
	size_t n = strlen(text);
	for (size_t i = 0; i < n; i += piece) {
		line_splitter_feed(&s, text + i, MIN(piece, n - i));
		drain(&s, false, &out);
	}
	drain(&s, true, &out);
	line_splitter_release(&s);
	assert_string_equal(buf_str(&out), want);
}

static void splits_lines_from_any_pieces(void **state)
{
	for (size_t piece = 1; piece < 40; piece++) {
		expect("a\nbc\n", 10, piece, "<a><bc>");
		expect("a\r\n\r\n \t\n\nb", 10, piece, "<a><b>");
		expect("", 10, piece, "");
		expect("0123456789\n0123456789\r\nx\n", 10, piece, "<0123456789><0123456789><x>");
		expect("0123456789a\nok\n", 10, piece, "!<ok>");
		expect("0123456789012345678901234567890123\r\nok\n0123456789ab", 10, piece, "!<ok>!");
		expect("\n\n\n", 10, piece, "");
	}
}

static void a_long_line_is_reported_once_in_bounded_memory(void **state)
{
	struct line_splitter s = { .max = 1000 };
	AUTO(freep) char *chunk = xmalloc(65536);
	AUTO(buf_release) struct buf out = { 0 };
	memset(chunk, 'x', 65536);
	for (int i = 0; i < 200; i++) {
		line_splitter_feed(&s, chunk, 65536);
		drain(&s, false, &out);
		assert_true(s.held.cap < 4 * 65536);
	}
	line_splitter_feed(&s, "\nnext\n", 6);
	drain(&s, false, &out);
	assert_string_equal(buf_str(&out), "!<next>");
	line_splitter_release(&s);
}

/* --- the connection -------------------------------------------------------------------------------------- */

struct peer {
	struct loop *loop;
	struct lines *lines;
	unsigned got, eof, errors, drained;
	size_t answer;
	int stop_after;
};

static void on_line(void *ctx, const char *line, size_t n)
{
	struct peer *p = ctx;
	p->got++;
	if (p->answer) {
		AUTO(freep) char *big = xmalloc(p->answer);
		memset(big, 'y', p->answer);
		lines_write(p->lines, big, p->answer);
	}
}

static void on_too_long(void *ctx)
{
	((struct peer *)ctx)->errors++;
}

static void on_eof(void *ctx, int error)
{
	struct peer *p = ctx;
	p->eof++;
	loop_stop(p->loop, 0);
}

static void on_write_error(void *ctx, int error)
{
	struct peer *p = ctx;
	assert_int_equal(error, -EPIPE);
	p->errors++;
	loop_stop(p->loop, 0);
}

static void on_drained(void *ctx)
{
	((struct peer *)ctx)->drained++;
}

static const struct lines_ops ops = { on_line, on_too_long, on_eof, on_write_error, on_drained };

static void stop_loop(void *ctx)
{
	loop_stop(ctx, 0);
}

static void run_for(struct loop *loop, uint64_t ms)
{
	struct timer *t = timer_new(loop, stop_loop, loop);
	timer_start(t, ms, 0);
	loop_run(loop);
	timer_free(t);
}

static void a_reader_that_stalls_is_not_read_from(void **state)
{
	int fds[2];
	struct peer p = { .loop = loop_new(), .answer = 100000 };
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
	struct lines_limits limits = { .line_max = 100, .pause_above = 300000, .queue_max = 4000000 };
	int out = fcntl(fds[1], F_DUPFD_CLOEXEC, 3);
	p.lines = lines_new(p.loop, fds[1], out, &limits, &ops, &p);
	assert_non_null(p.lines);
	for (int i = 0; i < 50; i++)
		assert_int_equal(write(fds[0], "q\n", 2), 2);
	run_for(p.loop, 50);
	/* All fifty came in one read. Reading stopped after the few whose answers fill the pipe and the queue. */
	assert_in_range(p.got, 3, 20);
	assert_true(lines_stalled(p.lines));
	size_t total = 0;
	for (int turn = 0; turn < 1000 && total < 50 * 100001u; turn++) {
		static char sink[1 << 20];
		for (ssize_t n; (n = read(fds[0], sink, sizeof(sink))) > 0;)
			total += (size_t)n;
		run_for(p.loop, 1);
	}
	assert_int_equal(total, 50 * 100001);
	assert_int_equal(p.got, 50);
	close(fds[0]);
	run_for(p.loop, 200);
	assert_int_equal(p.eof, 1);
	lines_free(p.lines);
	loop_free(p.loop);
}

/* Fifty requests are in the pipe, and the answers to a few fill the way back. Then the peer closes its side. */
static void ask_fifty_and_close(struct peer *p, int *ret_out)
{
	static const struct lines_limits limits = { .line_max = 100, .pause_above = 300000, .queue_max = 4000000 };
	int in[2], out[2];
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(fcntl(out[0], F_SETFL, O_NONBLOCK), 0);
	*p = (struct peer){ .loop = loop_new(), .answer = 100000 };
	p->lines = lines_new(p->loop, in[0], out[1], &limits, &ops, p);
	for (int i = 0; i < 50; i++) {
		assert_int_equal(write(in[1], "q\n", 2), 2);
		run_for(p->loop, 1);
	}
	assert_true(lines_stalled(p->lines));
	assert_true(p->got < 50);
	close(in[1]);
	*ret_out = out[0];
}

static void a_peer_that_closes_and_does_not_read_is_gone(void **state)
{
	struct peer p;
	int out;
	ask_fifty_and_close(&p, &out);
	run_for(p.loop, 20000); /* ends with on_eof */
	assert_int_equal(p.eof, 1);
	lines_free(p.lines);
	close(out);
	loop_free(p.loop);
}

static void a_peer_that_closes_and_still_reads_gets_everything(void **state)
{
	static char sink[1 << 16];
	struct peer p;
	size_t total = 0;
	int out;
	ask_fifty_and_close(&p, &out);
	for (int turn = 0; turn < 5000 && !p.eof; turn++) {
		for (ssize_t n; (n = read(out, sink, sizeof(sink))) > 0;)
			total += (size_t)n;
		run_for(p.loop, 1);
	}
	assert_int_equal(p.eof, 1);
	assert_int_equal(p.got, 50);
	for (ssize_t n; (n = read(out, sink, sizeof(sink))) > 0;)
		total += (size_t)n;
	assert_in_range(total, 46 * 100001, 50 * 100001); /* the rest is still queued */
	lines_free(p.lines);
	close(out);
	loop_free(p.loop);
}

static void a_full_queue_ends_with_its_reader(void **state)
{
	int in[2], out[2];
	struct peer p = { .loop = loop_new() };
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	struct lines_limits limits = { .line_max = 100, .pause_above = 300000, .queue_max = 1000000 };
	p.lines = lines_new(p.loop, in[0], out[1], &limits, &ops, &p);
	AUTO(freep) char *big = xcalloc(1, 400000);
	memset(big, 'z', 400000);
	assert_int_equal(lines_write(p.lines, big, 400000), 0);
	assert_int_equal(lines_write(p.lines, big, 400000), 0);
	assert_int_equal(lines_write(p.lines, big, 400000), -ENOBUFS);
	assert_true(lines_queued(p.lines) > 700000 && lines_queued(p.lines) < 1000000);
	close(out[0]);
	run_for(p.loop, 200);
	assert_int_equal(p.errors, 1);
	assert_int_equal(lines_write(p.lines, "x", 1), -EPIPE);
	close(in[1]);
	lines_free(p.lines);
	loop_free(p.loop);
}

static void the_rest_at_eof_is_a_line(void **state)
{
	int in[2], out[2];
	struct peer p = { .loop = loop_new() };
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	struct lines_limits limits = { .line_max = 100, .pause_above = 1000, .queue_max = 1000 };
	assert_int_equal(write(in[1], "a\nb", 3), 3);
	close(in[1]);
	p.lines = lines_new(p.loop, in[0], out[1], &limits, &ops, &p);
	run_for(p.loop, 1000);
	assert_int_equal(p.got, 2);
	assert_int_equal(p.eof, 1);
	lines_free(p.lines);
	close(out[0]);
	loop_free(p.loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(splits_lines_from_any_pieces),
		cmocka_unit_test(a_long_line_is_reported_once_in_bounded_memory),
		cmocka_unit_test(a_reader_that_stalls_is_not_read_from),
		cmocka_unit_test(a_peer_that_closes_and_does_not_read_is_gone),
		cmocka_unit_test(a_peer_that_closes_and_still_reads_gets_everything),
		cmocka_unit_test(a_full_queue_ends_with_its_reader),
		cmocka_unit_test(the_rest_at_eof_is_a_line),
	};
	/* main() of the program does this in signals_new(). */
	struct loop *loop = loop_new();
	struct signals *signals = signals_new(loop, NULL, NULL);
	signals_free(signals);
	loop_free(loop);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
