#include "jupyter/face/publisher.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json.h"

#define HOLD_MS 10
#define HOLD_BYTES (64u << 10)
/* Descriptions of figures and tables for models, which notebooks do not need. */
#define OWN_TYPES "application/vnd.husk."

struct publisher {
	struct channels *channels;
	const struct request *request; /* NULL = none */
	bool quiet;
	int stream; /* the stream of the held text */
	struct buf held;
	struct timer *flush;
};

static void publish(struct publisher *p, const char *type, json_t *content)
{
	json_auto_t *taken = content;
	if (p->request && !p->quiet)
		channels_publish(p->channels, type, p->request->header, taken);
}

static void flush(void *ctx)
{
	struct publisher *p = ctx;
	timer_stop(p->flush);
	if (!p->held.len)
		return;
	publish(p, "stream",
		json_pack("{s:s, s:o}", "name", p->stream == 2 ? "stderr" : "stdout", "text",
			  json_text(buf_str(&p->held))));
	buf_reset(&p->held);
}

void publisher_flush(struct publisher *p)
{
	flush(p);
}

struct publisher *publisher_new(struct loop *loop, struct channels *channels)
{
	struct publisher *p = new0(struct publisher);
	p->channels = channels;
	p->flush = timer_new(loop, flush, p);
	return p;
}

struct publisher *publisher_free(struct publisher *p)
{
	if (!p)
		return NULL;
	timer_free(p->flush);
	buf_release(&p->held);
	free(p);
	return NULL;
}

void publisher_begin(struct publisher *p, const struct request *request, bool quiet)
{
	p->request = request;
	p->quiet = quiet;
	publisher_status(p, request, "busy");
}

void publisher_end(struct publisher *p)
{
	flush(p);
	publisher_status(p, p->request, "idle");
	p->request = NULL;
}

void publisher_code(struct publisher *p, const char *code, uint64_t count)
{
	publish(p, "execute_input",
		json_pack("{s:o, s:I}", "code", json_text(code), "execution_count", (json_int_t)count));
}

void publisher_text(struct publisher *p, int stream, const char *text, size_t n)
{
	if (stream != p->stream)
		flush(p);
	p->stream = stream;
	(void)buf_add(&p->held, text, n);
	if (p->held.len >= HOLD_BYTES)
		flush(p);
	else if (!timer_active(p->flush))
		timer_start(p->flush, HOLD_MS, 0);
}

static json_t *value_of(const struct mime_part *part)
{
	json_t *value = NULL;
	if (strstr(part->type, "json"))
		value = json_loadb(part->data, part->len, JSON_DECODE_ANY, NULL);
	return value ? value : json_text(part->data);
}

static json_t *data_of(const struct mime_bundle *bundle)
{
	json_t *data = json_object();
	for (size_t i = 0; bundle && i < bundle->n; i++)
		if (strncmp(bundle->parts[i].type, OWN_TYPES, strlen(OWN_TYPES)) != 0)
			json_object_set_new(data, bundle->parts[i].type, value_of(&bundle->parts[i]));
	return data;
}

void publisher_display(struct publisher *p, const struct shown_display *display)
{
	flush(p);
	if (display->clear) {
		publish(p, "clear_output", json_pack("{s:b}", "wait", 0));
		return;
	}
	json_t *transient = json_object();
	if (display->id)
		json_object_set_new(transient, "display_id", json_text(display->id));
	publish(p, display->update ? "update_display_data" : "display_data",
		json_pack("{s:o, s:{}, s:o}", "data", data_of(display->bundle), "metadata", "transient", transient));
}

void publisher_result(struct publisher *p, const struct mime_bundle *bundle, uint64_t count)
{
	flush(p);
	if (bundle->n)
		publish(p, "execute_result",
			json_pack("{s:I, s:o, s:{}}", "execution_count", (json_int_t)count, "data", data_of(bundle),
				  "metadata"));
}

void publisher_error(struct publisher *p, const json_t *error)
{
	flush(p);
	publish(p, "error", json_incref((json_t *)error));
}

void publisher_status(struct publisher *p, const struct request *request, const char *state)
{
	json_auto_t *content = json_pack("{s:s}", "execution_state", state);
	channels_publish(p->channels, "status", request ? request->header : NULL, content);
}
