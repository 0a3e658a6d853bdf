/* The kernel link at PID 1's end: the stream of a hostile kernel through a real socket, and each accepted message on its way
 * to the manager. */
#include "kernels/cells/link.h"

#include <fcntl.h>
#include <sys/socket.h>

#include "kernels/runs/requests.h"
#include "tests/fuzz/fuzz.h"

struct probe {
	struct link link;
	struct runs runs;
	struct run *run;
	bool gone, closes;
};

static void on_message(struct link *l, const struct link_message *m)
{
	struct probe *p = container_of(l, struct probe, link);
	CHECK(!p->gone && json_is_object(m->tree) && m->op <= LINK_WOKEN);
	CHECK(m->op != LINK_HELLO || m->language_version);
	CHECK(m->op == LINK_FORKED || !m->cannot);
	CHECK(utf8_valid(m->raw, m->raw_len));
	/* The manager reads the same bytes again, by the same rules. */
	json_auto_t *again = json_loadb((const char *)m->raw, m->raw_len, JSON_REJECT_DUPLICATES, NULL);
	CHECK(json_equal(again, m->tree));
	if (m->op == LINK_DISPLAY || m->op == LINK_RESULT)
		CHECK(json_is_object(json_object_get(m->tree, "data")));
	if (m->op == LINK_DISPLAY && m->clear)
		run_clear(p->run, m->wait);
	else if (m->op == LINK_DISPLAY && !m->unusable)
		run_display(p->run, m->raw, m->raw_len, m->display_id, m->update);
	else if (m->op == LINK_RESULT || m->op == LINK_ERROR)
		run_structured(p->run, m->op == LINK_RESULT ? FRAME_RESULT : FRAME_ERROR, m->raw, m->raw_len);
	/* PID 1 closes the link from inside when a message comes at the wrong time. */
	if (m->op == LINK_DONE && p->closes) {
		p->gone = true;
		link_close(l);
	}
}

/* The message was too large to be parsed. It is dropped, and the kernel keeps running. */
static void on_dropped(struct link *l)
{
	CHECK(!container_of(l, struct probe, link)->gone);
}

static void on_gone(struct link *l, bool broken, const char *why)
{
	struct probe *p = container_of(l, struct probe, link);
	CHECK(!p->gone && why && l->fd < 0);
	p->gone = true;
}

static void stream(struct probe *p, struct poller *poller, struct pieces *pieces, int kernel)
{
	const uint8_t *piece;
	size_t size;
	while (!p->gone && pieces_next(pieces, &piece, &size)) {
		while (size && !p->gone) {
			ssize_t sent = send(kernel, piece, size, MSG_NOSIGNAL | MSG_DONTWAIT);
			if (sent > 0) {
				piece += sent;
				size -= (size_t)sent;
			}
			poller_turn(poller, 0);
		}
	}
}

int fuzz_one(const uint8_t *data, size_t n)
{
	struct pieces pieces = pieces_of(data, n);
	struct probe p = { .link = { .fd = -1, .on_message = on_message, .on_dropped = on_dropped, .on_gone = on_gone },
			   .closes = n && data[0] & 1 };
	struct poller poller;
	int ends[2];
	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
	poller_init(&poller);
	runs_init(&p.runs, /* limits= */ NULL);
	CHECK(runs_add(&p.runs, 1, RUN_EXECUTE, "{\"code\":\"1\"}", 12, &p.run) == 0);
	run_start(p.run);
	link_open(&p.link, &poller, ends[0]);
	stream(&p, &poller, &pieces, ends[1]);
	close(ends[1]);
	link_drain(&p.link);
	CHECK(p.gone && p.link.fd < 0);
	run_end(p.run, &(struct run_ending){ .ending = "ok" });
	runs_release(&p.runs);
	return 0;
}
