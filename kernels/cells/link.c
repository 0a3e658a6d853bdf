#include "kernels/cells/link.h"

#include <errno.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "base/json.h"
#include "base/outline.h"
#include "base/shape.h"
#include "kernels/cells/mime.h"
#include "kernels/system/frames.h"

#define READ_BYTES (32u << 10)
/* A buffer that held a long message is not kept for short ones. */
#define BUFFER_KEPT_MAX (64u << 10)
/* A forked child of a dead kernel may hold the link open and write forever. */
#define DRAIN_READS_MAX 128
#define BUNDLE_MAX 32
#define EXIT_CODE_MAX 255
#define ID_MASK (((uint64_t)1 << 53) - 1)
/* How many ids are made at once: getrandom() gives up to 256 bytes in one piece. */
#define IDS 32

static bool has_bounded_shape(const void *json, size_t n)
{
	struct shape s = shape_of(json, n);
	return s.depth <= LINK_DEPTH_MAX && s.containers <= LINK_CONTAINERS_MAX && s.values <= LINK_VALUES_MAX;
}

static bool may_be_json(const char *mime)
{
	size_t n = strlen(mime);
	return streq(mime, "application/json") || (n > 5 && streq(mime + n - 5, "+json"));
}

static bool valid_bundle(json_t *data)
{
	const char *mime;
	json_t *value;
	if (!json_is_object(data) || json_object_size(data) > BUNDLE_MAX)
		return false;
	json_object_foreach(data, mime, value)
		if (!mime_valid(mime) || !(json_is_string(value) || may_be_json(mime)))
			return false;
	return true;
}

static bool is_string_or_absent(const json_t *o, const char *name)
{
	const json_t *value = json_object_get(o, name);
	return !value || json_is_string(value);
}

/* A boolean, or absent. */
static bool is_flag(const json_t *o, const char *name, bool *ret)
{
	const json_t *value = json_object_get(o, name);
	*ret = json_is_true(value);
	return !value || json_is_boolean(value);
}

static const char *check_hello(struct link_message *m)
{
	m->token = json_string_value(json_object_get(m->tree, "token"));
	m->version = json_integer_value(json_object_get(m->tree, "version"));
	m->language_version = json_string_value(json_object_get(m->tree, "language_version"));
	m->lists_variables = json_is_true(json_object_get(m->tree, "looks"));
	m->queries = json_is_true(json_object_get(m->tree, "queries"));
	m->forks = json_is_true(json_object_get(m->tree, "forks"));
	return is_string_or_absent(m->tree, "token") && m->language_version ? NULL : "sent a hello without its fields";
}

static bool is_exit_code(struct link_message *m)
{
	const json_t *code = json_object_get(m->tree, "exit_code");
	json_int_t n = json_integer_value(code);
	m->exit_code = code ? (int)n : -1;
	return !code || (json_is_integer(code) && n >= 0 && n <= EXIT_CODE_MAX);
}

static const char *check_input(struct link_message *m)
{
	const json_t *prompt = json_object_get(m->tree, "prompt"), *prompt_id = json_object_get(m->tree, "question");
	if (!is_string_or_absent(m->tree, "prompt") || !is_flag(m->tree, "password", &m->password) ||
	    !is_flag(m->tree, "cancel", &m->cancel) || !json_is_integer(prompt_id))
		return "sent a malformed prompt";
	m->prompt = json_string_value(prompt);
	m->prompt_len = json_string_length(prompt);
	m->prompt_id = json_integer_value(prompt_id);
	return NULL;
}

static const char *check_fields(struct link_message *m)
{
	switch (m->op) {
	case LINK_HELLO:
		return check_hello(m);
	case LINK_DISPLAY:
		if (!is_string_or_absent(m->tree, "display_id") || !is_flag(m->tree, "update", &m->update) ||
		    !is_flag(m->tree, "clear", &m->clear) || !is_flag(m->tree, "wait", &m->wait) ||
		    !is_flag(m->tree, "sync", &m->sync))
			return "sent a display with a bad display_id or update";
		m->display_id = json_string_value(json_object_get(m->tree, "display_id"));
		__attribute__((__fallthrough__));
	case LINK_RESULT:
		m->unusable = !valid_bundle(json_object_get(m->tree, "data"));
		return json_is_object(json_object_get(m->tree, "data")) ? NULL : "sent a display without data";
	case LINK_ERROR:
		return json_is_string(json_object_get(m->tree, "type")) && is_string_or_absent(m->tree, "message") &&
				       is_string_or_absent(m->tree, "traceback") && is_exit_code(m) ?
			       NULL :
			       "sent a malformed error";
	case LINK_INPUT:
		return check_input(m);
	case LINK_DONE:
	case LINK_SYNC:
	case LINK_ANSWER:
	case LINK_WOKEN:
		return NULL;
	case LINK_FORKED:
		m->cannot = json_string_value(json_object_get(m->tree, "cannot"));
		return is_string_or_absent(m->tree, "cannot") ? NULL : "sent a malformed answer to a fork";
	case LINK_VARIABLES:
		return json_is_array(json_object_get(m->tree, "variables")) ? NULL :
									      "sent a malformed list of variables";
	}
	return "sent an unknown message";
}

static const char *check_message(struct link_message *m)
{
	static const char *const names[] = {
		[LINK_HELLO] = "hello",		[LINK_DISPLAY] = "display", [LINK_RESULT] = "result",
		[LINK_ERROR] = "error",		[LINK_DONE] = "done",	    [LINK_SYNC] = "sync",
		[LINK_VARIABLES] = "variables", [LINK_INPUT] = "input",	    [LINK_ANSWER] = "answer",
		[LINK_FORKED] = "forked",	[LINK_WOKEN] = "woken",
	};
	const char *op = json_string_value(json_object_get(m->tree, "op"));
	const json_t *id = json_object_get(m->tree, "id");
	m->id = json_is_integer(id) ? json_integer_value(id) : -1;
	for (size_t i = 0; op && i < ARRAY_LEN(names); i++) {
		if (!streq(op, names[i]))
			continue;
		m->op = (enum link_op)i;
		return check_fields(m);
	}
	return "sent an unknown message";
}

json_int_t link_make_id(void)
{
	static uint64_t ids[IDS];
	static size_t left;
	uint64_t id = 0;
	while (!id) {
		if (!left && getrandom(ids, sizeof(ids), 0) != (ssize_t)sizeof(ids))
			abort(); /* without randomness there is no safe id; for so few bytes getrandom() does not fail */
		left = left ? left : IDS;
		id = ids[--left] & ID_MASK;
	}
	return (json_int_t)id;
}

int link_parse(const void *data, size_t n, struct link_message *ret, const char **ret_why)
{
	AUTO(outline_release) struct outline outline = { 0 };
	struct link_message m = { .raw = data, .raw_len = n };
	/* Long strings are passed on unread: their place in the message is checked, not their content. */
	if (n > OUTLINE_MIN) {
		outline_make(&outline, data, n, OUTLINE_MIN, /* mark= */ NULL);
		data = outline.text.data;
		n = outline.text.len;
	}
	if (!has_bounded_shape(data, n))
		return -E2BIG;
	m.tree = json_parse(data, n, JSON_REJECT_DUPLICATES);
	const char *why = json_is_object(m.tree) ? check_message(&m) : "sent something that is not a JSON object";
	if (why) {
		*ret_why = why;
		json_decref(m.tree);
		return -EPROTO;
	}
	*ret = m;
	return 0;
}

void link_message_release(struct link_message *m)
{
	json_decref(m->tree);
	m->tree = NULL;
}

void link_close(struct link *l)
{
	watch_stop(&l->watch);
	closep(&l->fd);
	buf_release(&l->in);
	buf_release(&l->out);
}

static void lose(struct link *l, bool broken, const char *why)
{
	l->unread |= l->out.len > 0;
	link_close(l);
	l->on_gone(l, broken, why);
}

static size_t header_length(const uint8_t *at)
{
	return (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
}

static void handle_one(struct link *l, const uint8_t *data, size_t n)
{
	struct link_message m;
	const char *why;
	int r = link_parse(data, n, &m, &why);
	if (r == -E2BIG) {
		l->on_dropped(l);
	} else if (r < 0) {
		lose(l, true, why);
	} else {
		l->on_message(l, &m);
		link_message_release(&m);
	}
}

/* True if the link is still open afterwards. */
static bool handle_messages(struct link *l)
{
	size_t used = 0;
	while (l->in.len - used >= LINK_HEADER_SIZE) {
		size_t n = header_length(l->in.data + used);
		if (n == 0 || n > LINK_MESSAGE_MAX) {
			lose(l, true, "sent a message of a forbidden length");
			return false;
		}
		if (l->in.len - used - LINK_HEADER_SIZE < n)
			break;
		handle_one(l, l->in.data + used + LINK_HEADER_SIZE, n);
		if (l->fd < 0)
			return false;
		used += LINK_HEADER_SIZE + n;
	}
	buf_consume(&l->in, used);
	if (l->in.len == 0 && l->in.cap > BUFFER_KEPT_MAX)
		buf_release(&l->in);
	return true;
}

/* How many bytes to read: few reads for a long message, no large buffer for a short one. */
static size_t read_size(const struct link *l)
{
	size_t whole = l->in.len < LINK_HEADER_SIZE ? 0 : LINK_HEADER_SIZE + header_length(l->in.data);
	return whole > l->in.len && whole <= LINK_HEADER_SIZE + LINK_MESSAGE_MAX ? MAX(whole - l->in.len, READ_BYTES) :
										   READ_BYTES;
}

/* 1 if something was read and handled, 0 if there is nothing to read now, -1 if the link is closed. */
static int read_once(struct link *l)
{
	size_t most = read_size(l);
	uint8_t *at = buf_reserve(&l->in, most);
	ssize_t n = recv(l->fd, at, most, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		l->unread = n < 0 && errno == ECONNRESET; /* a peer that closes with unread data causes ECONNRESET */
		lose(l, false, "closed its link");
		return -1;
	}
	l->in.len += (size_t)n;
	l->fresh = true;
	return handle_messages(l) ? 1 : -1;
}

static int write_some(struct link *l)
{
	while (l->out.len) {
		ssize_t n = send(l->fd, l->out.data, l->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0)
			return -errno;
		buf_consume(&l->out, (size_t)n);
	}
	if (!l->out.len && l->out.cap > BUFFER_KEPT_MAX)
		buf_release(&l->out);
	l->watch.events = (short)(POLLIN | (l->out.len ? POLLOUT : 0));
	return 0;
}

static void on_ready(struct watch *w, short revents)
{
	struct link *l = container_of(w, struct link, watch);
	if (revents & POLLOUT && write_some(l) < 0) {
		lose(l, false, "closed its link");
		return;
	}
	if (revents & (POLLIN | POLLHUP | POLLERR))
		(void)read_once(l);
}

void link_open(struct link *l, struct poller *p, int fd)
{
	l->fd = fd;
	l->in = l->out = (struct buf){ 0 };
	l->unread = false;
	watch_start(p, &l->watch, fd, POLLIN, on_ready);
}

struct buf *link_begin(struct link *l)
{
	static const uint8_t header[LINK_HEADER_SIZE];
	if (l->fd < 0)
		return NULL;
	l->begun = l->out.len;
	(void)buf_add(&l->out, header, sizeof(header));
	return &l->out;
}

void link_finish(struct link *l)
{
	size_t n = l->out.len - l->begun - LINK_HEADER_SIZE;
	for (int i = 0; i < LINK_HEADER_SIZE; i++)
		l->out.data[l->begun + (size_t)i] = (uint8_t)(n >> (24 - 8 * i));
	/* A broken socket is noticed and reported when it is read. */
	(void)write_some(l);
}

int link_send(struct link *l, const json_t *message)
{
	struct buf *out = message ? link_begin(l) : NULL;
	if (!out)
		return message ? -EPIPE : -ENOMEM;
	json_print(out, message);
	link_finish(l);
	return 0;
}

void link_drain(struct link *l)
{
	for (int i = 0; i < DRAIN_READS_MAX && l->fd >= 0 && read_once(l) > 0; i++)
		;
}
