#include "jupyter/multipart.h"

#include <errno.h>
#include <zmq.h>

#include "base/alloc.h"

struct multipart {
	zmq_msg_t messages[MESSAGE_FRAMES_MAX];
	struct part parts[MESSAGE_FRAMES_MAX];
	size_t n;
};

struct multipart *multipart_new(void)
{
	return new0(struct multipart);
}

static void release(struct multipart *m)
{
	for (size_t i = 0; i < m->n; i++)
		zmq_msg_close(&m->messages[i]);
	m->n = 0;
}

struct multipart *multipart_free(struct multipart *m)
{
	if (m)
		release(m);
	free(m);
	return NULL;
}

static void keep(struct multipart *m, zmq_msg_t *frame)
{
	zmq_msg_init(&m->messages[m->n]);
	zmq_msg_move(&m->messages[m->n], frame);
	m->parts[m->n] = (struct part){ zmq_msg_data(&m->messages[m->n]), zmq_msg_size(&m->messages[m->n]) };
	m->n++;
}

/* ZeroMQ hands over all frames of a message or none. */
int multipart_receive(struct multipart *m, void *socket)
{
	bool too_many = false;
	release(m);
	for (int more = 1; more;) {
		zmq_msg_t frame;
		zmq_msg_init(&frame);
		if (zmq_msg_recv(&frame, socket, ZMQ_DONTWAIT) < 0) {
			zmq_msg_close(&frame);
			release(m);
			return 0;
		}
		more = zmq_msg_more(&frame);
		if (m->n < MESSAGE_FRAMES_MAX)
			keep(m, &frame);
		else
			too_many = true;
		zmq_msg_close(&frame);
	}
	return too_many ? -E2BIG : 1;
}

const struct part *multipart_parts(const struct multipart *m, size_t *ret_n)
{
	*ret_n = m->n;
	return m->parts;
}

int multipart_send(void *socket, const struct part *parts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (zmq_send(socket, parts[i].data, parts[i].n, ZMQ_DONTWAIT | (i + 1 < n ? ZMQ_SNDMORE : 0)) < 0)
			return -zmq_errno();
	return 0;
}

int multipart_send_envelope(void *socket, const struct part *idents, size_t n_idents, const struct envelope *e)
{
	struct part parts[MESSAGE_IDENTS_MAX + ARRAY_LEN(e->frames)];
	size_t n = MIN(n_idents, (size_t)MESSAGE_IDENTS_MAX);
	if (n)
		memcpy(parts, idents, n * sizeof(*parts));
	for (size_t i = 0; i < ARRAY_LEN(e->frames); i++)
		parts[n++] = (struct part){ e->frames[i].data, e->frames[i].len };
	return multipart_send(socket, parts, n);
}
