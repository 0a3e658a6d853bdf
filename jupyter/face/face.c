#include "jupyter/face/face.h"

#include "base/alloc.h"
#include "base/log.h"
#include "jupyter/face/cells.h"
#include "jupyter/face/language.h"
#include "jupyter/face/queries.h"

struct face {
	struct face_spec spec;
	struct channels *channels;
	struct publisher *publisher;
	struct cells *cells;
	struct queries *queries;
	bool ended;
};

/* --- answers ----------------------------------------------------------------------------------------------------- */

/* Clients show the last status that they received. While a cell runs, "busy" is therefore published again after other
 * requests. */
static void done_with(struct face *face, struct request *r)
{
	const struct request *running = cells_running(face->cells);
	publisher_status(face->publisher, r, "idle");
	if (running)
		publisher_status(face->publisher, running, "busy");
	request_free(r);
}

/* Takes the request and the content. */
static void answer(struct face *face, struct request *r, const char *type, json_t *content)
{
	request_reply(r, face->channels, type, content);
	done_with(face, r);
}

static void kernel_info(struct face *face, struct request *r)
{
	const struct runtime *runtime = face->spec.runtime;
	AUTO(freep) char *banner = xasprintf("%s in a session of Husk %s", runtime->title, HUSK_VERSION);
	answer(face, r, "kernel_info_reply",
	       json_pack("{s:s, s:s, s:s, s:s, s:o, s:s, s:b, s:[], s:[]}", "status", "ok", "protocol_version",
			 MESSAGE_VERSION, "implementation", "husk", "implementation_version", HUSK_VERSION,
			 "language_info", language_info(runtime), "banner", banner, "debugger", 0, "help_links",
			 "supported_features"));
}

static void execute(struct face *face, struct request *r)
{
	cells_add(face->cells, r);
}

static void query(struct face *face, struct request *r)
{
	queries_add(face->queries, r);
}

/* The reply is empty, because by default Husk logs runs (husk history) without their code. */
static void history(struct face *face, struct request *r)
{
	answer(face, r, "history_reply", json_pack("{s:s, s:[]}", "status", "ok", "history"));
}

static void comm_info(struct face *face, struct request *r)
{
	answer(face, r, "comm_info_reply", json_pack("{s:s, s:{}}", "status", "ok", "comms"));
}

/* Comms are not supported. A comm that a client opens is closed at once. */
static void comm_open(struct face *face, struct request *r)
{
	json_auto_t *content = json_pack("{s:s, s:{}}", "comm_id", request_string(r, "comm_id"), "data");
	channels_publish(face->channels, "comm_close", r->header, content);
	done_with(face, r);
}

static void interrupt(struct face *face, struct request *r)
{
	cells_interrupt(face->cells);
	answer(face, r, "interrupt_reply", json_pack("{s:s}", "status", "ok"));
}

static void end(struct face *face, const char *why)
{
	if (face->ended)
		return;
	face->ended = true;
	face->spec.on_end(face->spec.ctx, why);
}

/* A session that this face does not own keeps running: a restart only starts a new interpreter, and a shutdown is
 * only answered. */
static void shutdown_kernel(struct face *face, struct request *r)
{
	bool restart = request_flag(r, "restart", false);
	if (!face->spec.owns && restart) {
		cells_restart(face->cells, r);
		return;
	}
	json_auto_t *content = json_pack("{s:s, s:b}", "status", "ok", "restart", restart);
	if (face->spec.owns)
		channels_publish(face->channels, "shutdown_reply", r->header, content);
	answer(face, r, "shutdown_reply", json_incref(content));
	if (face->spec.owns)
		end(face, /* why= */ NULL);
}

/* --- requests ---------------------------------------------------------------------------------------------------- */

static const struct {
	const char *type;
	void (*handle)(struct face *face, struct request *r);
} handlers[] = {
	{ "complete_request", query },		 { "inspect_request", query },	 { "is_complete_request", query },
	{ "kernel_info_request", kernel_info },	 { "execute_request", execute }, { "history_request", history },
	{ "comm_info_request", comm_info },	 { "comm_open", comm_open },	 { "interrupt_request", interrupt },
	{ "shutdown_request", shutdown_kernel },
};

static void refuse(struct face *face, struct request *r, const char *type)
{
	const char *at = strstr(type, "_request");
	if (!at || at[strlen("_request")]) {
		done_with(face, r);
		return;
	}
	AUTO(freep) char *reply = xasprintf("%.*s_reply", (int)(at - type), type);
	answer(face, r, reply,
	       json_pack("{s:s, s:s, s:s, s:[]}", "status", "error", "ename", "NotSupported", "evalue",
			 "Husk does not know this request", "traceback"));
}

static void on_message(void *ctx, enum channel from, const struct message *m)
{
	struct face *face = ctx;
	if (face->ended)
		return;
	if (from == CHANNEL_STDIN) {
		if (streq(m->type, "input_reply"))
			cells_input(face->cells, m);
		return;
	}
	struct request *r = request_new(from, m);
	if (!streq(m->type, "execute_request"))
		publisher_status(face->publisher, r, "busy");
	for (size_t i = 0; i < ARRAY_LEN(handlers); i++) {
		if (streq(handlers[i].type, m->type)) {
			handlers[i].handle(face, r);
			return;
		}
	}
	log_debug("a client sent the unknown request '%s'", m->type);
	refuse(face, r, m->type);
}

/* --- life -------------------------------------------------------------------------------------------------------- */

static void on_answered(void *ctx, struct request *r)
{
	done_with(ctx, r);
}

static void on_gone(void *ctx, const char *why)
{
	end(ctx, why);
}

int face_open(struct face **ret, const struct face_spec *spec, struct fail *f)
{
	struct face *face = new0(struct face);
	face->spec = *spec;
	if (channels_open(&face->channels,
			  &(struct channels_spec){ .loop = spec->loop,
						   .connection = spec->connection,
						   .id = spec->id,
						   .on_message = on_message,
						   .ctx = face },
			  f) < 0) {
		free(face);
		return -1;
	}
	face->publisher = publisher_new(spec->loop, face->channels);
	face->cells = cells_new(&(struct cells_spec){
		.channels = face->channels, .publisher = face->publisher, .on_gone = on_gone, .ctx = face });
	face->queries = queries_new(
		&(struct queries_spec){ .channels = face->channels, .on_answered = on_answered, .ctx = face });
	publisher_status(face->publisher, NULL, "starting");
	*ret = face;
	return 0;
}

struct face *face_free(struct face *face)
{
	if (!face)
		return NULL;
	queries_free(face->queries);
	cells_free(face->cells);
	publisher_free(face->publisher);
	channels_free(face->channels);
	free(face);
	return NULL;
}

void face_attach(struct face *face, struct attach *attach, const char *session_id)
{
	queries_attach(face->queries, attach, session_id);
	cells_attach(face->cells, attach, session_id);
	channels_listen(face->channels);
}

void face_tell(struct face *face, const char *text)
{
	cells_tell(face->cells, text);
}

void face_interrupt(struct face *face)
{
	cells_interrupt(face->cells);
}
