/* The whole protocol face on one connection, with a manager that needs no engine: lines in pieces, calls, batches,
 * duplicates, cancellations and an early end. Every line that is sent is a message, and no request is answered
 * twice. */
#include "mcp/server.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/lines.h"
#include "base/log.h"
#include "tests/conformance/fixtures.h"
#include "tests/fuzz/fuzz.h"

/* Turns of the loop after the last byte, so that calls can end; then the client hangs up. */
#define TURNS_AFTER 4

struct peer {
	struct loop *loop;
	struct pieces pieces;
	struct timer *timer;
	int fd;
	unsigned turns;
	bool fixtures;
};

static void on_turn(void *ctx)
{
	struct peer *p = ctx;
	const uint8_t *piece;
	size_t n;
	if (pieces_next(&p->pieces, &piece, &n))
		CHECK(write(p->fd, piece, n) == (ssize_t)n);
	else if (++p->turns == TURNS_AFTER)
		closep(&p->fd);
	if (p->fd >= 0)
		timer_start(p->timer, 0, 0);
}

static void on_end(void *ctx, bool gave_up)
{
	struct peer *p = ctx;
	CHECK(!gave_up);
	loop_stop(p->loop, 0);
}

/* One for each answer: a message with an id and no method. */
static size_t count_answers(const json_t *message)
{
	size_t count = 0;
	for (size_t i = 0; i < json_array_size(message); i++)
		count += count_answers(json_array_get(message, i));
	if (json_is_array(message)) {
		CHECK(json_array_size(message) > 0);
		return count;
	}
	const char *version = json_string_value(json_object_get(message, "jsonrpc"));
	bool result = json_object_get(message, "result"), error = json_object_get(message, "error");
	bool method = json_object_get(message, "method");
	CHECK(version && streq(version, "2.0") && result + error + method == 1);
	CHECK(!(result || method) || method == !json_object_get(message, "id"));
	return result || error;
}

/* The maximum number of answers to the input: one for each line, or for each value in a line that is a list. */
static size_t count_asked(const uint8_t *data, size_t n)
{
	size_t asked = 1;
	for (size_t i = 0; i < n; i++)
		asked += data[i] == '\n' || data[i] == ',';
	return asked;
}

static size_t read_answers(int fd)
{
	AUTO(buf_release) struct buf text = { 0 };
	AUTO(line_splitter_release) struct line_splitter lines = { .max = SIZE_MAX / 2 };
	off_t size = lseek(fd, 0, SEEK_END);
	uint8_t *at = buf_reserve(&text, (size_t)size);
	CHECK(pread(fd, at, (size_t)size, 0) == size);
	line_splitter_feed(&lines, at, (size_t)size);
	CHECK(!size || at[size - 1] == '\n');
	const char *line;
	size_t n, answers = 0;
	while (line_splitter_next(&lines, /* at_end= */ false, &line, &n) == LINE_READY) {
		json_auto_t *message = json_loadb(line, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
		CHECK(message);
		answers += count_answers(message);
	}
	return answers;
}

static void serve(struct peer *peer, int in_fd, int out_fd)
{
	static const struct config config = { .storage_dir = (char *)"/srv/husk",
					      .execution_timeout = 30,
					      .max_sessions = 3,
					      .max_sessions_per_thread = 3 };
	struct manager *manager = manager_new(peer->loop, &config);
	struct server *server = server_new(&(struct server_spec){
		.loop = peer->loop,
		.conversation = conversation_open(manager, NULL),
		.config = &config,
		.in_fd = in_fd,
		.out_fd = out_fd,
		.extension = peer->fixtures ? fixtures_extension() : NULL,
		.on_end = on_end,
		.ctx = peer,
	});
	CHECK(server);
	loop_run(peer->loop);
	manager_free(manager);
	server_free(server);
}

int fuzz_one(const uint8_t *data, size_t n)
{
	int ends[2], out = memfd_create("answers", MFD_CLOEXEC);
	/* The fake manager produces as much output as these request. */
	if (n > 16384 || memmem(data, n, "flood", 5) || memmem(data, n, "plot", 4)) {
		closep(&out);
		return 0;
	}
	log_set_level(LOG_ERROR);
	CHECK(out >= 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
	struct peer peer = {
		.loop = loop_new(), .pieces = pieces_of(data, n), .fd = ends[1], .fixtures = n && data[0] & 1
	};
	peer.timer = timer_new(peer.loop, on_turn, &peer);
	timer_start(peer.timer, 0, 0);
	size_t asked = count_asked(data, n);
	serve(&peer, ends[0], fcntl(out, F_DUPFD_CLOEXEC, 3));
	timer_free(peer.timer);
	loop_free(peer.loop);
	closep(&peer.fd);
	CHECK(read_answers(out) <= asked);
	closep(&out);
	return 0;
}
