#include "attach/served-client.h"

#include <errno.h>
#include <sys/socket.h>

#include "attach/codec.h"
#include "attach/fields.h"
#include "attach/served.h"
#include "attach/wire.h"
#include "base/alloc.h"
#include "base/log.h"
#include "base/stream.h"
#include "base/watchdog.h"

/* Time limit for a client's hello. */
#define HELLO_MS 5000
/* Limits of unread output: above the first, the client is not read from; above the second, it gets no long
 * answers; above the third, it is disconnected. */
#define QUEUE_PAUSE (8u << 20)
#define QUEUE_FULL (ATTACH_ANSWER_MAX + (16u << 20))
#define QUEUE_MAX (ATTACH_ANSWER_MAX + (32u << 20))

/* Open files that may wait for their requests. */
#define FILES_MAX (4 * ATTACH_FILES_MAX)

struct served_client {
	struct served_host host;
	struct list node;
	struct served_client_spec spec;
	struct stream *stream;
	struct attach_reader reader;
	struct timer *timer;  /* for its hello, then for its end */
	uint32_t last_number; /* of its requests */
	/* Open files in order of arrival; they may arrive shortly before their request. */
	int files[FILES_MAX];
	size_t n_files;
	bool ending;
};

/* The client is freed from the loop, because the calling function may still use it. */
static void end(struct served_client *p, const char *why)
{
	if (p->ending)
		return;
	log_debug("attach: client %llu disconnects: %s", (unsigned long long)p->spec.client, why);
	p->ending = true;
	timer_start(p->timer, 0, 0);
}

static void on_timer(void *ctx)
{
	struct served_client *p = ctx;
	if (!p->ending)
		log_debug("attach: client %llu sent no hello", (unsigned long long)p->spec.client);
	p->ending = true;
	p->spec.on_end(p->spec.ctx, p);
}

/* --- out ----------------------------------------------------------------------------------------------------------- */

static void write_frames(struct served_host *host, const struct buf *frames)
{
	struct served_client *p = container_of(host, struct served_client, host);
	if (p->ending)
		return;
	if (stream_write(p->stream, frames->data, frames->len) < 0)
		end(p, "it does not read its messages");
	else if (stream_queued(p->stream) > QUEUE_PAUSE)
		stream_pause(p->stream, true);
}

static size_t room(const struct served_host *host)
{
	size_t queued = stream_queued(container_of(host, const struct served_client, host)->stream);
	return queued < QUEUE_FULL ? QUEUE_FULL - queued : 0;
}

/* --- hello --------------------------------------------------------------------------------------------------------- */

struct lookup {
	const char *id;
	json_t *out;
};

static void add_session(void *ctx, const struct session_info *info)
{
	struct lookup *lookup = ctx;
	if (streq(info->id, lookup->id))
		json_object_set_new(lookup->out, "session", session_info_encode(info));
}

static void greet(struct served_client *p, const json_t *hello)
{
	struct fields in = { .json = hello };
	uint64_t version = fields_number(&in, "version", UINT32_MAX);
	const char *session = fields_text(&in, "session");
	AUTO(buf_release) struct buf frames = { 0 };
	json_auto_t *answer = json_object();
	if (in.bad || !version) {
		end(p, "its hello is malformed");
		return;
	}
	fields_put_number(answer, "version", MIN(version, (uint64_t)ATTACH_VERSION));
	fields_put_number(answer, "pid", (uint64_t)getpid());
	fields_put_text(answer, "husk", HUSK_VERSION);
	fields_put_bool(answer, "files", true);
	if (session)
		conversation_each_session(p->host.conversation, add_session, &(struct lookup){ session, answer });
	attach_put(&frames, ATTACH_SERVER, ATTACH_HELLO, 0, answer);
	timer_stop(p->timer);
	write_frames(&p->host, &frames);
}

void served_client_refuse(int fd, const struct fail *why)
{
	AUTO(buf_release) struct buf frames = { 0 };
	json_auto_t *answer = json_pack("{s:o}", "fail", fail_encode(why));
	attach_put(&frames, ATTACH_SERVER, ATTACH_HELLO, 0, answer);
	/* A client that misses the answer sees the end of the stream. */
	(void)!send(fd, frames.data, frames.len, MSG_DONTWAIT | MSG_NOSIGNAL);
	close(fd);
}

/* --- in ------------------------------------------------------------------------------------------------------------ */

static void on_descriptor(void *ctx, int fd)
{
	struct served_client *p = ctx;
	if (!p->ending && p->n_files < FILES_MAX) {
		p->files[p->n_files++] = fd;
		return;
	}
	close(fd);
	end(p, "it sent files that no request names");
}

static void close_files(int *files, size_t *n)
{
	for (size_t i = 0; i < *n; i++)
		close(files[i]);
	*n = 0;
}

/* A request takes the files that it names even if it fails, so that the next request finds its own. */
static int take_files(struct served_client *p, const json_t *request)
{
	struct fields in = { .json = request };
	size_t n = fields_number(&in, "files", ATTACH_FILES_MAX);
	if (in.bad || n > p->n_files)
		return -1;
	memcpy(p->host.files, p->files, n * sizeof(*p->files));
	memmove(p->files, p->files + n, (p->n_files - n) * sizeof(*p->files));
	p->n_files -= n;
	p->host.n_files = n;
	return 0;
}

static void begin_call(struct served_client *p, const struct attach_message *m)
{
	if (m->call <= p->last_number) {
		end(p, "the number of its request did not increase");
		return;
	}
	if (take_files(p, m->json) < 0) {
		end(p, "its request names files that it did not send");
		return;
	}
	p->last_number = m->call;
	served_begin(&p->host, m->call, m->json);
	close_files(p->host.files, &p->host.n_files);
}

static void on_message(struct served_client *p, const struct attach_message *m)
{
	watchdog_detail("a message (type) of an attached program:", NULL, m->type);
	struct served *s = m->type == ATTACH_HELLO ? NULL : served_find(&p->host, m->call);
	switch (m->type) {
	case ATTACH_HELLO:
		greet(p, m->json);
		return;
	case ATTACH_CALL:
		begin_call(p, m);
		return;
	default:
		break;
	}
	/* The request may have ended meanwhile. */
	if (!s)
		return;
	if (m->type == ATTACH_CANCEL)
		served_cancel(s);
	else if (m->type == ATTACH_INTERRUPT)
		served_interrupt(s);
	else if (m->type == ATTACH_BYTES && s->type->on_bytes)
		s->type->on_bytes(s, m->bytes, m->n);
	else if (m->type == ATTACH_NOTE && s->type->on_note)
		s->type->on_note(s, m->json);
}

static void on_data(void *ctx, const void *data, size_t n)
{
	struct served_client *p = ctx;
	const char *why = NULL;
	int r = 0;
	if (p->ending)
		return;
	attach_reader_feed(&p->reader, data, n);
	while (!p->ending) {
		struct attach_message m = { 0 };
		r = attach_reader_next(&p->reader, &m, &why);
		if (r <= 0)
			break;
		on_message(p, &m);
		attach_message_release(&m);
	}
	if (r < 0)
		end(p, why);
}

static void on_eof(void *ctx, int error)
{
	end(ctx, error ? strerror(-error) : "it has closed the connection");
}

static void on_write_error(void *ctx, int error)
{
	end(ctx, strerror(-error));
}

static void on_hangup(void *ctx)
{
	end(ctx, "it has closed the connection");
}

static void on_drained(void *ctx)
{
	struct served_client *p = ctx;
	if (!p->ending)
		stream_pause(p->stream, false);
}

/* --- life ---------------------------------------------------------------------------------------------------------- */

struct served_client *served_client_new(const struct served_client_spec *spec)
{
	static const struct stream_ops ops = {
		.on_data = on_data,
		.on_descriptor = on_descriptor,
		.on_eof = on_eof,
		.on_write_error = on_write_error,
		.on_drained = on_drained,
		.on_hangup = on_hangup,
	};
	struct served_client *p = new0(struct served_client);
	p->spec = *spec;
	p->stream = stream_new(spec->loop, spec->fd, spec->fd, &ops, p);
	if (!p->stream) {
		int saved = errno;
		free(p);
		errno = saved;
		return NULL;
	}
	stream_set_queue_max(p->stream, QUEUE_MAX);
	p->host = (struct served_host){ .conversation = spec->conversation,
					.config = spec->config,
					.loop = spec->loop,
					.client = spec->client,
					.write = write_frames,
					.room = room };
	list_init(&p->host.calls);
	list_init(&p->node);
	attach_reader_init(&p->reader, ATTACH_CLIENT);
	p->timer = timer_new(spec->loop, on_timer, p);
	timer_start(p->timer, HELLO_MS, 0);
	return p;
}

struct served_client *served_client_drop(struct served_client *p)
{
	if (!p)
		return NULL;
	p->ending = true;
	served_drop_all(&p->host);
	list_remove(&p->node);
	timer_free(p->timer);
	stream_free(p->stream);
	close_files(p->files, &p->n_files);
	attach_reader_release(&p->reader);
	free(p);
	return NULL;
}

struct served_client *served_client_free(struct served_client *p)
{
	if (!p)
		return NULL;
	p->ending = true;
	for (struct served *s; (s = list_first(&p->host.calls, struct served, node));)
		served_cancel(s);
	conversation_end_client(p->host.conversation, p->spec.client);
	return served_client_drop(p);
}

struct list *served_client_node(struct served_client *p)
{
	return &p->node;
}

struct served_client *served_client_of(struct list *node)
{
	return container_of(node, struct served_client, node);
}
