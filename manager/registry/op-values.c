/* Copies variables of other sessions into variables of a session.
 *
 * Nothing but runs and copies is needed: a cell in the one session writes the value to a file, which is exported
 * without being kept and imported into the other session, where a cell reads it. So the value waits in the queues of
 * both interpreters, and has the limits of runs and files. docs/design/values.md describes the file. */
#include "manager/registry/op.h"

#include <fcntl.h>

#include "base/alloc.h"
#include "manager/model/cause.h"
#include "manager/model/handle.h"
#include "manager/model/token.h"

#define NAME_BYTES_MAX 128
/* For each of the two cells, once it runs. */
#define CELL_SECONDS 300
/* No other client waits for these runs, and their results report no other runs. */
#define CLIENT_FIRST (UINT64_C(1) << 62)

/* The cells of a language: the first two places of `give` and the first of `take` are the name, the other is the file. */
struct language {
	const char *name;
	char also; /* character that a name may have in this language only */
	const char *give, *take;
};

static const struct language languages[] = {
	{ "python", '\0', "__import__('husk_values').give('%1$s', '%2$s')",
	  "__import__('husk_values').take('%1$s', '%2$s')" },
	{ "r", '.', ".husk$give_value('%1$s', '%2$s')", ".husk$take_value('%1$s', '%2$s')" },
	{ "node", '$', "(await import('/opt/husk/kernel/husk/values.mjs')).give('%1$s', %1$s, '%2$s');",
	  "%1$s = (await import('/opt/husk/kernel/husk/values.mjs')).take('%2$s'); undefined" },
};

struct value {
	size_t at; /* place in the results */
	char *session, *variable, *destination;
};

enum step { STEP_ASK, STEP_GIVE, STEP_FETCH, STEP_PUT, STEP_TAKE, STEP_CLEAN_SOURCE, STEP_CLEAN, STEPS };

struct values_op {
	struct op op;
	struct copy_request request; /* its strings and lists are NULL */
	char *session;		     /* that gets the values */
	const struct language *language;
	struct value *values;
	size_t n, current;
	size_t *files; /* the places of the other items in the results; NULL = there are none */
	struct copy_result *results;

	/* State of the current value. */
	enum step step;
	const struct language *from;
	char *file;  /* path in both sessions */
	int content; /* open; -1 = none */
	struct fail failure;

	uint64_t client;
	struct op *part; /* what it waits for; NULL = nothing */
	struct timer *turn;
};

static struct values_op *values_op_of(struct op *op)
{
	return container_of(op, struct values_op, op);
}

static struct value *current(struct values_op *o)
{
	return &o->values[o->current];
}

static void copy_over(struct copy_result *to, const struct copy_result *from)
{
	*to = (struct copy_result){ .source = from->source ? xstrdup(from->source) : NULL,
				    .path = from->path ? xstrdup(from->path) : NULL,
				    .success = from->success,
				    .size = from->size };
	if (from->failure.kind)
		fail_copy(&to->failure, &from->failure);
	for (size_t i = 0; i < from->notices.n; i++)
		strv_add(&to->notices, from->notices.v[i]);
}

/* ---- steps: each starts a part, whose callback starts the next one from the loop */

static void advance(struct values_op *o, enum step step)
{
	o->part = NULL;
	o->step = step;
	timer_start(o->turn, 0, 0);
}

/* Files may have been left in both sessions. */
static void give_up(struct values_op *o, const struct fail *f)
{
	fail_copy(&o->failure, f);
	advance(o, o->step == STEP_ASK ? STEPS : STEP_CLEAN_SOURCE);
}

static void refuse(struct values_op *o, const char *why)
{
	AUTO(fail_release) struct fail f = { 0 };
	fail_set(&f, FAIL_INVALID, "%s", why);
	give_up(o, &f);
}

static const struct language *find_language(const char *runtime, struct fail *f)
{
	for (size_t i = 0; i < ARRAY_LEN(languages); i++)
		if (streq(languages[i].name, runtime))
			return &languages[i];
	fail_set(f, FAIL_INVALID,
		 "sessions of %s cannot send or receive variables: only those of Python, R and Node.js can", runtime);
	fail_hint(f, "Write the value to a file, and pass the file on.");
	return NULL;
}

static bool is_name(const char *s, const struct language *l)
{
	bool fine = *s && !(*s >= '0' && *s <= '9') && strlen(s) <= NAME_BYTES_MAX;
	for (const char *at = s; fine && *at; at++)
		fine = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9') ||
		       *at == '_' || (l->also && *at == l->also) || (unsigned char)*at >= 0x80;
	return fine;
}

static void on_source(void *ctx, const struct session_details *details, const struct fail *f)
{
	struct values_op *o = ctx;
	struct value *v = current(o);
	AUTO(fail_release) struct fail why = { 0 };
	o->from = f ? NULL : find_language(details->session.runtime, &why);
	if (!o->from) {
		give_up(o, f ? f : &why);
	} else if (streq(details->session.id, o->session)) {
		refuse(o, "the variable is in the same session: assign it in a cell");
	} else if (!is_name(v->variable, o->from) || !is_name(v->destination, o->language)) {
		bool bad = !is_name(v->variable, o->from);
		AUTO(freep) char *text =
			xasprintf("'%.*s' is not a name of a variable in %s", NAME_BYTES_MAX,
				  bad ? v->variable : v->destination, bad ? o->from->name : o->language->name);
		refuse(o, text);
	} else {
		free(v->session);
		v->session = xstrdup(details->session.id);
		advance(o, STEP_GIVE);
	}
}

static void on_target(void *ctx, const struct session_details *details, const struct fail *f)
{
	struct values_op *o = ctx;
	AUTO(fail_release) struct fail why = { 0 };
	o->language = f ? NULL : find_language(details->session.runtime, &why);
	if (!o->language) {
		op_fail(&o->op, f ? f : &why);
		return;
	}
	free(o->session);
	o->session = xstrdup(details->session.id);
	advance(o, STEP_ASK);
}

static int ask(struct values_op *o, const char *session,
	       void (*fn)(void *ctx, const struct session_details *details, const struct fail *f), struct fail *f)
{
	o->part = manager_info(
		o->op.conversation,
		&(struct info_request){ .session_id = session, .keep_alive = true, .on_done = fn, .ctx = o }, f);
	return o->part ? 0 : -1;
}

static void on_cell(void *ctx, const struct run_result *result, const struct fail *f)
{
	struct values_op *o = ctx;
	bool gives = o->step == STEP_GIVE;
	const struct value *v = current(o);
	AUTO(fail_release) struct fail why = { 0 };
	if (!f && result->ending == ENDING_OK) {
		advance(o, gives ? STEP_FETCH : STEP_CLEAN_SOURCE);
		return;
	}
	if (!f && result->ending == ENDING_ERROR)
		fail_set(&why, FAIL_INVALID, "cannot copy '%s': %s", gives ? v->variable : v->destination,
			 result->error_message ? result->error_message : "the cell failed");
	else if (!f)
		fail_set(&why, FAIL_TIMEOUT, "cannot copy '%s': the cell that %s it ended with %s%s%s", v->variable,
			 gives ? "sends" : "receives", ending_name(result->ending), result->detail ? ": " : "",
			 result->detail ? result->detail : "");
	give_up(o, f ? f : &why);
}

static int run(struct values_op *o, const char *session, const char *format, const char *name, struct fail *f)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	AUTO(freep) char *text = xasprintf(format, name, o->file);
#pragma GCC diagnostic pop
	o->part = manager_run(o->op.conversation,
			      &(struct run_request){ .session_id = session,
						     .kind = RUN_CODE,
						     .text = text,
						     .len = strlen(text),
						     .client = o->client,
						     .by = "import_files",
						     .timeout_seconds = CELL_SECONDS,
						     .on_done = on_cell,
						     .ctx = o },
			      f);
	return o->part ? 0 : -1;
}

static void on_fetched(void *ctx, const struct copy_result *results, size_t n UNUSED, const struct fail *f)
{
	struct values_op *o = ctx;
	const struct copy_result *r = f ? NULL : &results[0];
	if (f || !r->success) {
		give_up(o, f ? f : &r->failure);
		return;
	}
	o->content = fcntl(r->content, F_DUPFD_CLOEXEC, 3);
	o->results[current(o)->at].size = r->size;
	if (o->content < 0 || r->export.directory)
		refuse(o, "the other session's value could not be read");
	else
		advance(o, STEP_PUT);
}

static int fetch(struct values_op *o, struct fail *f)
{
	o->part = manager_copy(o->op.conversation,
			       &(struct copy_request){ .session_id = current(o)->session,
						       .exports = (const char *const[]){ o->file },
						       .n = 1,
						       .temporary = true,
						       .unseen = true,
						       .on_done = on_fetched,
						       .ctx = o },
			       f);
	return o->part ? 0 : -1;
}

static void on_put(void *ctx, const struct copy_result *results, size_t n UNUSED, const struct fail *f)
{
	struct values_op *o = ctx;
	closep(&o->content);
	if (f || !results[0].success)
		give_up(o, f ? f : &results[0].failure);
	else
		advance(o, STEP_TAKE);
}

static int put(struct values_op *o, struct fail *f)
{
	struct import_item item = { .source = "/value", .own = true, .fd = o->content, .destination = o->file };
	o->part = manager_copy(o->op.conversation,
			       &(struct copy_request){ .session_id = o->session,
						       .imports = &item,
						       .n = 1,
						       .unseen = true,
						       .on_done = on_put,
						       .ctx = o },
			       f);
	return o->part ? 0 : -1;
}

static void on_cleaned(void *ctx, const struct fail *f UNUSED)
{
	struct values_op *o = ctx;
	advance(o, o->step + 1);
}

static int clean(struct values_op *o, const char *session, struct fail *f)
{
	o->part = manager_delete_file(o->op.conversation,
				      &(struct delete_file_request){
					      .session_id = session, .path = o->file, .on_done = on_cleaned, .ctx = o },
				      f);
	return o->part ? 0 : -1;
}

static void next_value(struct values_op *o)
{
	struct copy_result *r = &o->results[current(o)->at];
	r->success = !o->failure.kind;
	fail_move(&r->failure, &o->failure);
	closep(&o->content);
	free(take_ptr(o->file));
	o->current++;
	advance(o, STEP_ASK);
}

static void on_files(void *ctx, const struct copy_result *results, size_t n, const struct fail *f)
{
	struct values_op *o = ctx;
	o->part = NULL;
	if (f) {
		op_fail(&o->op, f);
		return;
	}
	for (size_t i = 0; i < n; i++)
		copy_over(&o->results[o->files[i]], &results[i]);
	free(take_ptr(o->files));
	timer_start(o->turn, 0, 0);
}

static int take_step(struct values_op *o, struct fail *f)
{
	struct value *v = current(o);
	char token[TOKEN_SIZE];
	switch (o->step) {
	case STEP_ASK:
		token_make(token);
		o->file = xasprintf("/home/sandbox/.husk-value-%s", token);
		return ask(o, v->session, on_source, f);
	case STEP_GIVE:
		return run(o, v->session, o->from->give, v->variable, f);
	case STEP_FETCH:
		return fetch(o, f);
	case STEP_PUT:
		return put(o, f);
	case STEP_TAKE:
		return run(o, o->session, o->language->take, v->destination, f);
	case STEP_CLEAN_SOURCE:
		return clean(o, v->session, f);
	case STEP_CLEAN: /* a cell that has read the file has deleted it */
		if (o->failure.kind)
			return clean(o, o->session, f);
		break;
	case STEPS:
		break;
	}
	next_value(o);
	return 0;
}

static void on_turn(void *ctx)
{
	struct values_op *o = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	if (!o->language) {
		if (ask(o, o->session, on_target, &f) < 0)
			op_fail(&o->op, &f);
	} else if (o->current == o->n) {
		o->request.on_done(o->request.ctx, o->results, o->n + o->request.n, NULL);
		op_end(&o->op);
	} else if (take_step(o, &f) < 0) {
		if (o->step >= STEP_CLEAN_SOURCE)
			advance(o, o->step + 1);
		else
			give_up(o, &f);
	}
}

/* ---- life */

static void answer_fail(struct op *op, const struct fail *f)
{
	struct values_op *o = values_op_of(op);
	o->request.on_done(o->request.ctx, NULL, 0, f);
}

static void cancel(struct op *op)
{
	struct values_op *o = values_op_of(op);
	if (o->part)
		op_cancel(take_ptr(o->part));
}

static void values_op_free(struct op *op)
{
	struct values_op *o = values_op_of(op);
	for (size_t i = 0; i < o->n; i++) {
		free(o->values[i].session);
		free(o->values[i].variable);
		free(o->values[i].destination);
	}
	for (size_t i = 0; i < o->n + o->request.n; i++)
		copy_result_release(&o->results[i]);
	free(o->values);
	free(o->results);
	free(o->files);
	free(o->file);
	free(o->session);
	closep(&o->content);
	fail_release(&o->failure);
	timer_free(o->turn);
	free(o);
}

bool values_wanted(const struct copy_request *req)
{
	for (size_t i = 0; req->imports && i < req->n; i++)
		if (req->imports[i].variable)
			return true;
	return false;
}

static void take_value(struct values_op *o, const struct import_item *item, size_t at)
{
	struct value *v = &o->values[o->n++];
	v->at = at;
	v->session = xstrdup(item->session_id);
	v->variable = xstrdup(item->variable);
	v->destination = xstrdup(item->destination && *item->destination ? item->destination : item->variable);
	o->results[at].source = xasprintf("%s:%s", v->session, v->variable);
	o->results[at].path = xstrdup(v->destination);
}

struct op *values_copy(struct conversation *c, const struct copy_request *req, struct fail *f)
{
	static const struct op_type type = { .fail = answer_fail, .cancel = cancel, .free = values_op_free };
	static uint64_t clients = CLIENT_FIRST;
	struct registry *r = c->registry;
	struct values_op *o = new0(struct values_op);
	AUTO(freep) struct import_item *files = xcalloc(req->n, sizeof(*files));
	struct copy_request rest = *req;
	op_init(&o->op, r, c, &type);
	o->content = -1;
	o->client = clients++;
	o->session = xstrdup(req->session_id);
	o->values = xcalloc(req->n, sizeof(*o->values));
	o->results = xcalloc(req->n, sizeof(*o->results));
	o->files = xcalloc(req->n, sizeof(*o->files));
	o->turn = timer_new(r->loop, on_turn, o);
	rest.imports = files;
	rest.n = 0;
	rest.on_done = on_files;
	rest.on_progress = req->on_progress;
	for (size_t i = 0; i < req->n; i++) {
		if (req->imports[i].variable) {
			take_value(o, &req->imports[i], i);
			continue;
		}
		o->files[rest.n] = i;
		files[rest.n++] = req->imports[i];
	}
	o->request = (struct copy_request){ .n = rest.n, .on_done = req->on_done, .ctx = req->ctx };
	o->step = STEP_ASK;
	if (rest.n == 0) {
		timer_start(o->turn, 0, 0);
		return &o->op;
	}
	rest.ctx = o;
	rest.on_progress = NULL; /* its context is the caller's */
	o->part = manager_copy(c, &rest, f);
	if (o->part)
		return &o->op;
	op_end(&o->op);
	return NULL;
}
