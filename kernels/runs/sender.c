#include "kernels/runs/sender.h"

#include <errno.h>
#include <sys/socket.h>

#include "kernels/system/frames.h"

/* Whole frames are claimed up to about this many bytes at once, so that PONG and other short frames never wait for more
 * than that or one big frame. */
#define CLAIM_BYTES (64u << 10)

void sender_init(struct sender *s, struct runs *runs)
{
	*s = (struct sender){ .runs = runs, .queued_fd = -1, .refused = -1 };
}

void sender_release(struct sender *s)
{
	buf_release(&s->queue);
	closep(&s->queued_fd);
	closep(&s->refused);
	s->current = NULL;
}

void sender_reset(struct sender *s)
{
	buf_release(&s->queue);
	closep(&s->queued_fd);
	closep(&s->refused);
	s->queue_sent = 0;
	s->current = NULL;
	runs_rewind(s->runs);
}

bool sender_full(const struct sender *s)
{
	return s->queue.len - s->queue_sent > SENDER_QUEUE_MAX;
}

int sender_raw(struct sender *s, uint8_t type, uint32_t call, const void *payload, size_t n)
{
	return frame_append(&s->queue, type, call, payload, n);
}

int sender_json(struct sender *s, uint8_t type, uint32_t call, const json_t *payload)
{
	return frame_append_json(&s->queue, type, call, payload);
}

void sender_attach(struct sender *s, int fd)
{
	closep(&s->queued_fd);
	closep(&s->refused);
	s->queued_fd = fd;
	s->queued_fd_at = s->queue.len - FRAME_HEADER_SIZE;
}

int sender_attached(struct sender *s)
{
	return take_fd(s->refused);
}

/* Gives the descriptor back and drops its frame. Frames queued after it stay. */
static void refuse_queued_fd(struct sender *s)
{
	size_t end = s->queued_fd_at + FRAME_HEADER_SIZE;
	memmove(s->queue.data + s->queued_fd_at, s->queue.data + end, s->queue.len - end);
	s->queue.len -= FRAME_HEADER_SIZE;
	s->refused = take_fd(s->queued_fd);
}

static struct run *next_unsent(const struct sender *s)
{
	list_for_each(c, &s->runs->list, struct run, node)
		if (c->replay || c->prompt_due || c->sent < c->log.len)
			return c;
	return NULL;
}

bool sender_pending(const struct sender *s)
{
	return s->current || s->queue.len > s->queue_sent || next_unsent(s);
}

void sender_progress(struct sender *s, uint64_t now_ms)
{
	if (sender_pending(s))
		return;
	list_for_each(c, &s->runs->list, struct run, node) {
		json_t *payload;
		if (!run_progress(c, now_ms, &payload))
			continue;
		(void)sender_json(s, FRAME_PROGRESS, c->number, payload);
		json_decref(payload);
	}
}

static void claim(struct sender *s, struct run *c)
{
	size_t end = c->sent;
	do
		end += frame_size(c->log.data + end);
	while (end < c->log.len && end + frame_size(c->log.data + end) - c->sent <= CLAIM_BYTES);
	c->claimed = end;
	s->current = c;
}

static void announce(struct sender *s, struct run *c)
{
	json_auto_t *payload = json_pack("{s:s, s:I}", "kind", run_kind_name(c->kind), "told", (json_int_t)c->told);
	run_add_state(c, payload);
	if (c->by)
		json_object_set_new(payload, "by", json_string(c->by));
	if (c->branch)
		json_object_set_new(payload, "branch", json_string(c->branch));
	if (c->detached)
		json_object_set_new(payload, "detached", json_true());
	c->replay = c->prompt_due = false;
	(void)frame_append_json(&s->queue, FRAME_CALL, c->number, payload);
}

/* The frame need not be kept: after a broken stream the CALL frame carries the same state. */
static void send_prompt(struct sender *s, struct run *c)
{
	json_auto_t *payload = json_object();
	run_add_state(c, payload);
	c->prompt_due = false;
	(void)frame_append_json(&s->queue, FRAME_PROMPT, c->number, payload);
}

/* 1 if everything up to `end` was sent, 0 if not, -errno. */
static int push(int fd, const uint8_t *data, size_t *sent, size_t end)
{
	while (*sent < end) {
		ssize_t n = send(fd, data + *sent, end - *sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		*sent += (size_t)n;
	}
	return 1;
}

/* Sends the descriptor with the rest of the queue. Returns the same as push(). */
static int push_queued_fd(struct sender *s, int fd)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec rest = { s->queue.data + s->queue_sent, s->queue.len - s->queue_sent };
	struct msghdr message = {
		.msg_iov = &rest, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};
	control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
					   .cmsg_level = SOL_SOCKET,
					   .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(&control.header), &s->queued_fd, sizeof(int));
	ssize_t n = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0 && errno == ETOOMANYREFS) {
		refuse_queued_fd(s);
		return 1;
	}
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	/* The descriptor was sent with the first of these bytes. */
	closep(&s->queued_fd);
	s->queue_sent += (size_t)n;
	return 1;
}

static int push_queue(struct sender *s, int fd)
{
	int r = 1;
	if (s->queued_fd >= 0)
		r = push(fd, s->queue.data, &s->queue_sent, s->queued_fd_at);
	if (r == 1 && s->queued_fd >= 0)
		r = push_queued_fd(s, fd);
	return r == 1 ? push(fd, s->queue.data, &s->queue_sent, s->queue.len) : r;
}

int sender_flush(struct sender *s, int fd)
{
	for (;;) {
		int r;
		if (s->current) {
			struct run *c = s->current;
			r = push(fd, c->log.data, &c->sent, c->claimed);
			if (r <= 0)
				return r < 0 ? r : 1;
			s->current = NULL;
			if (c->acked)
				run_free(c);
			continue;
		}
		if (s->queue.len) {
			r = push_queue(s, fd);
			if (r <= 0)
				return r < 0 ? r : 1;
			buf_reset(&s->queue);
			s->queue_sent = 0;
			continue;
		}
		struct run *c = next_unsent(s);
		if (!c)
			return 0;
		if (c->replay)
			announce(s, c);
		else if (c->sent < c->log.len)
			claim(s, c);
		else
			send_prompt(s, c);
	}
}
