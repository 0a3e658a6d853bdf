#include "kernels/jupyter/outputs.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "kernels/jupyter/bundle.h"

#define FROM_EARLIER "[from an earlier cell]\n"
#define FROM_THIS "[from this cell]\n"
#define A_DISPLAY "(a display; it is shown with those of this cell)\n"
#define LATE_MAX 16
/* Buffers of one message: they are sent as base64 beside its data. */
#define BUFFER_BYTES_MAX (4u << 20)
#define TYPE_BYTES_MAX 200
/* Error of ipykernel and similar kernels for a prompt in a cell without input. */
#define NO_STDIN "StdinNotImplementedError"

void outputs_init(struct outputs *o)
{
	o->late = json_array();
}

void outputs_release(struct outputs *o)
{
	json_decref(take_ptr(o->pending));
	json_decref(take_ptr(o->late));
	json_decref(take_ptr(o->result));
	json_decref(take_ptr(o->reply_error));
}

void outputs_note(struct outputs *o, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	AUTO(freep) char *text = xvasprintf(fmt, ap);
	va_end(ap);
	AUTO(freep) char *line = xasprintf("%shusk-jupyter: %s\n", o->streams[1].mid_line ? "\n" : "", text);
	o->write(o, STDERR_FILENO, line, strlen(line));
	o->streams[1].mid_line = false;
}

/* ---- sending to PID 1 */

/* Sends a message. If it is too long, its largest types are removed until it fits. */
static void send_fitting(struct outputs *o, json_t *message)
{
	if (o->send(o, message))
		return;
	json_object_del(message, "buffers");
	json_object_del(message, "metadata");
	do {
		if (o->send(o, message)) {
			outputs_note(o, "the display is too large for a session; its largest form was left out");
			return;
		}
	} while (bundle_shrink(json_object_get(message, "data")));
	outputs_note(o, "the display is too large for a session and was left out");
}

void outputs_flush(struct outputs *o)
{
	json_auto_t *message = take_ptr(o->pending);
	if (message)
		send_fitting(o, message);
}

/* A display is not held back in case a clear_output or update_display_data replaces it: PID 1 and the cell's reader
 * handle those. */
static void send_display(struct outputs *o, json_t *message)
{
	outputs_flush(o);
	if (o->displays_values)
		o->pending = json_incref(message);
	else
		send_fitting(o, message);
}

static void send_late(struct outputs *o)
{
	size_t i;
	json_t *message;
	json_array_foreach(o->late, i, message) {
		json_object_set_new(message, "id", json_integer(o->call));
		send_display(o, message);
	}
	json_array_clear(o->late);
}

void outputs_begin(struct outputs *o, json_int_t call, const char *request)
{
	o->running = true;
	o->call = call;
	snprintf(o->request, sizeof(o->request), "%s", request);
	o->replied = o->idle = o->failed = o->interrupted = false;
	o->streams[0] = o->streams[1] = (struct outputs_stream){ 0 };
	json_decref(take_ptr(o->result));
	json_decref(take_ptr(o->reply_error));
	json_decref(take_ptr(o->pending));
	send_late(o);
}

bool outputs_complete(const struct outputs *o)
{
	return o->replied && o->idle;
}

static void send_result(struct outputs *o, const char *op)
{
	json_t *message = take_ptr(o->result);
	if (!message)
		return;
	json_object_set_new(message, "op", json_string(op));
	send_fitting(o, message);
	json_decref(message);
}

static void send_error(struct outputs *o, const json_t *content)
{
	outputs_flush(o);
	json_auto_t *type = bundle_text(json_object_get(content, "ename"));
	json_auto_t *text = bundle_text(json_object_get(content, "evalue"));
	json_auto_t *traceback = bundle_text(json_object_get(content, "traceback"));
	if (o->failed)
		return;
	if (!json_string_length(type) || json_string_length(type) > TYPE_BYTES_MAX)
		json_string_set(type, "Error");
	json_auto_t *message = json_pack("{s:s, s:I, s:O, s:O, s:O}", "op", "error", "id", o->call, "type", type,
					 "message", text, "traceback", traceback);
	o->failed = true;
	if (streq(json_string_value(type), NO_STDIN))
		outputs_note(o, "stdin is closed: nobody can answer. Run the cell with interactive=true to answer");
	if (o->send(o, message))
		return;
	json_object_del(message, "traceback");
	json_object_set_new(message, "message", json_string("(a message that is too long for a session)"));
	(void)o->send(o, message);
}

static void find_value(struct outputs *o)
{
	json_t *data = json_object_get(o->pending, "data");
	if (o->result || !json_object_get(data, "text/plain") || json_object_get(o->pending, "display_id") ||
	    json_object_get(data, "image/png") || json_object_get(data, "image/svg+xml"))
		return;
	o->result = take_ptr(o->pending);
}

void outputs_finish(struct outputs *o)
{
	find_value(o);
	outputs_flush(o);
	if (o->reply_error)
		send_error(o, o->reply_error);
	send_result(o, "result");
	json_auto_t *done = json_pack("{s:s, s:I}", "op", "done", "id", o->call);
	(void)o->send(o, done);
	o->running = false;
}

/* ---- iopub */

enum origin { ORIGIN_THIS, ORIGIN_EARLIER, ORIGIN_NOBODY };

static enum origin origin_of(const struct outputs *o, const struct message *m)
{
	const char *parent_type = json_string_value(json_object_get(m->parent, "msg_type"));
	if (o->running && streq(m->parent_id, o->request))
		return ORIGIN_THIS;
	/* Start-up messages, and output of threads in kernels that do not record the cell: they count as the
	 * running cell's. */
	if (!*m->parent_id || !parent_type || !streq(parent_type, "execute_request"))
		return ORIGIN_NOBODY;
	return ORIGIN_EARLIER;
}

/* Labels output of an earlier cell's thread while another cell runs. Between cells PID 1 does that. */
static void label(struct outputs *o, int fd, bool foreign)
{
	struct outputs_stream *s = &o->streams[fd - 1];
	if (!o->running || foreign == s->foreign)
		return;
	if (s->mid_line)
		o->write(o, fd, "\n", 1);
	o->write(o, fd, foreign ? FROM_EARLIER : FROM_THIS, strlen(foreign ? FROM_EARLIER : FROM_THIS));
	s->foreign = foreign;
}

static void on_stream(struct outputs *o, const struct message *m, enum origin origin)
{
	const char *name = json_string_value(json_object_get(m->content, "name"));
	const json_t *text = json_object_get(m->content, "text");
	int fd = name && streq(name, "stderr") ? STDERR_FILENO : STDOUT_FILENO;
	size_t n = json_string_length(text);
	if (!n)
		return;
	outputs_flush(o);
	label(o, fd, origin == ORIGIN_EARLIER);
	o->write(o, fd, json_string_value(text), n);
	o->streams[fd - 1].mid_line = json_string_value(text)[n - 1] != '\n';
}

static json_t *encode_buffers(const struct message *m)
{
	size_t total = 0;
	for (size_t i = 0; i < m->n_buffers; i++) {
		total += m->buffers[i].n;
		if (total > BUFFER_BYTES_MAX)
			return NULL;
	}
	json_t *list = m->n_buffers ? json_array() : NULL;
	for (size_t i = 0; i < m->n_buffers; i++) {
		AUTO(buf_release) struct buf text = { 0 };
		base64_encode(m->buffers[i].data, m->buffers[i].n, &text);
		json_array_append_new(list, json_stringn(text.len ? (const char *)text.data : "", text.len));
	}
	return list;
}

static json_t *make_display(const struct outputs *o, const struct message *m)
{
	json_t *message = json_pack("{s:s, s:I, s:o}", "op", "display", "id", o->call, "data",
				    bundle_clean(json_object_get(m->content, "data")));
	json_t *metadata = json_object_get(m->content, "metadata");
	json_t *buffers = encode_buffers(m);
	if (json_is_object(metadata) && json_object_size(metadata))
		json_object_set_new(message, "metadata", bundle_copy(metadata));
	if (buffers)
		json_object_set_new(message, "buffers", buffers);
	return message;
}

static const json_t *display_id_of(const json_t *object)
{
	const json_t *id = json_object_get(object, "display_id");
	return json_is_string(id) ? id : NULL;
}

static void keep_late(struct outputs *o, json_t *message)
{
	if (json_array_size(o->late) >= LATE_MAX)
		json_array_remove(o->late, 0);
	json_array_append(o->late, message);
}

static void on_display(struct outputs *o, const struct message *m, enum origin origin, bool update)
{
	json_auto_t *message = make_display(o, m);
	const json_t *id = display_id_of(json_object_get(m->content, "transient"));
	if (!json_object_size(json_object_get(message, "data")) && !id)
		return;
	if (id)
		json_object_set_new(message, "display_id", bundle_text(id));
	if (origin == ORIGIN_EARLIER && o->running && !update) {
		label(o, STDOUT_FILENO, /* foreign= */ true);
		o->write(o, STDOUT_FILENO, A_DISPLAY, strlen(A_DISPLAY));
		o->streams[0].mid_line = false;
	}
	if (update)
		json_object_set_new(message, "update", json_true());
	if (o->running)
		send_display(o, message);
	else
		keep_late(o, message);
}

/* xeus kernels send an empty result with every cell. */
static bool is_nothing(const json_t *data)
{
	const json_t *text = json_object_get(data, "text/plain");
	return !json_object_size(data) || (json_object_size(data) == 1 && text && !json_string_length(text));
}

/* A cell has one value; of several results the last one counts. */
static void on_result(struct outputs *o, const struct message *m)
{
	json_t *message = make_display(o, m);
	if (is_nothing(json_object_get(message, "data"))) {
		json_decref(message);
		return;
	}
	send_result(o, "display");
	o->result = message;
}

static void send_clear(struct outputs *o, bool wait)
{
	json_auto_t *message = json_pack("{s:s, s:I, s:{}, s:b}", "op", "display", "id", o->call, "data", "clear", 1);
	outputs_flush(o);
	if (wait)
		json_object_set_new(message, "wait", json_true());
	else
		json_decref(take_ptr(o->result));
	(void)o->send(o, message);
}

static void on_own(struct outputs *o, const struct message *m)
{
	if (streq(m->type, "execute_result")) {
		on_result(o, m);
	} else if (streq(m->type, "error")) {
		send_error(o, m->content);
	} else if (streq(m->type, "clear_output")) {
		send_clear(o, json_is_true(json_object_get(m->content, "wait")));
	} else if (streq(m->type, "status")) {
		const char *state = json_string_value(json_object_get(m->content, "execution_state"));
		o->idle |= state && streq(state, "idle");
	}
}

void outputs_published(struct outputs *o, const struct message *m)
{
	enum origin origin = origin_of(o, m);
	if (streq(m->type, "stream"))
		on_stream(o, m, origin);
	else if (streq(m->type, "display_data"))
		on_display(o, m, origin, /* update= */ false);
	else if (streq(m->type, "update_display_data"))
		on_display(o, m, origin, /* update= */ true);
	else if (origin == ORIGIN_THIS)
		on_own(o, m);
}

/* ---- shell */

/* `name?` in IPython and similar kernels answers with a page of text. */
static void show_pages(struct outputs *o, const json_t *content)
{
	size_t i;
	json_t *page;
	json_array_foreach(json_object_get(content, "payload"), i, page) {
		const char *source = json_string_value(json_object_get(page, "source"));
		json_t *data = json_object_get(page, "data");
		if (!source || !streq(source, "page") || !json_is_object(data))
			continue;
		json_auto_t *message =
			json_pack("{s:s, s:I, s:o}", "op", "display", "id", o->call, "data", bundle_clean(data));
		if (json_object_size(json_object_get(message, "data")))
			send_display(o, message);
	}
}

void outputs_replied(struct outputs *o, const struct message *m)
{
	if (!o->running || !streq(m->parent_id, o->request) || !streq(m->type, "execute_reply"))
		return;
	const char *status = json_string_value(json_object_get(m->content, "status"));
	o->replied = true;
	if (!status || streq(status, "ok")) {
		show_pages(o, m->content);
	} else if (streq(status, "error")) {
		json_decref(o->reply_error);
		o->reply_error = json_incref(m->content);
	} else {
		json_decref(o->reply_error);
		o->reply_error = o->interrupted ? json_pack("{s:s, s:s}", "ename", "Interrupted", "evalue",
							    "The cell was interrupted.") :
						  json_pack("{s:s, s:s}", "ename", "Aborted", "evalue",
							    "The kernel did not run the cell to its end.");
	}
}
