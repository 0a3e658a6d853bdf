#include "tests/fake-manager/fake-manager.h"

#include <strings.h>

#include "base/alloc.h"
#include "base/list.h"
#include "tests/unit/pictures.h"

struct fake_counters fake;

struct conversation {
	struct manager *manager;
};

struct task {
	struct list link;
	struct timer *timer;
	struct manager *manager;
	char id[16], *session_id;
	enum task_state state;
	bool exact; /* its result has a number that our printer would write differently */
	char *result;
};

struct manager {
	struct list tasks;
	unsigned n_tasks;
	struct task_handler handler;
	struct conversation conversation, other;
	struct loop *loop;
	struct list ops;
	unsigned sessions;
	char ids[8][16];
};

struct op {
	struct manager *manager;
	struct list link;
	struct timer *timer;
	struct timer *ticker;
	void (*finish)(struct op *op);
	struct create_request create;
	struct run_request run;
	struct stop_request stop;
	struct info_request info;
	struct checkpoint_request checkpoint;
	bool known; /* the checkpoint */
	struct copy_request copy;
	struct exports_request exports;
	struct read_request read;
	struct task_request task;
	struct await_request await;
	struct runs_request runs;
	struct run_record_request record;
	char *text;
	char *session_id;
};

static const char *const python_aliases[] = { "py", "python3", NULL };
static const struct runtime runtimes[] = {
	{ "python", "Python", python_aliases, "py", "husk-python:fake", "Python 3 with numpy, pandas and matplotlib." },
};

const struct runtime *runtime_list(size_t *ret_n)
{
	*ret_n = ARRAY_LEN(runtimes);
	return runtimes;
}

const struct runtime *runtime_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(runtimes); i++) {
		if (strcasecmp(runtimes[i].name, name) == 0)
			return &runtimes[i];
		for (const char *const *alias = runtimes[i].aliases; *alias; alias++)
			if (strcasecmp(*alias, name) == 0)
				return &runtimes[i];
	}
	return NULL;
}

struct manager *manager_new(struct loop *loop, const struct config *config)
{
	struct manager *m = new0(struct manager);
	m->conversation.manager = m->other.manager = m;
	m->loop = loop;
	list_init(&m->ops);
	list_init(&m->tasks);
	return m;
}

struct conversation *conversation_open(struct manager *m, const struct conversation_spec *spec)
{
	return spec && spec->id ? &m->other : &m->conversation;
}

static void op_free(struct op *op)
{
	list_remove(&op->link);
	timer_free(op->timer);
	timer_free(op->ticker);
	free(op->text);
	free(op->session_id);
	free(op);
}

void manager_settle(struct manager *m UNUSED, uint64_t ms UNUSED, void (*fn)(void *ctx), void *ctx)
{
	fn(ctx);
}

struct manager *manager_free(struct manager *m)
{
	if (!m)
		return NULL;
	list_for_each(op, &m->ops, struct op, link)
		op_free(op);
	list_for_each(t, &m->tasks, struct task, link) {
		timer_free(t->timer);
		free(t->session_id);
		free(t->result);
		free(t);
	}
	free(m);
	return NULL;
}

void conversation_wake(struct conversation *c)
{
}

void op_cancel(struct op *op)
{
	fake.cancelled++;
	op_free(op);
}

void op_interrupt(struct op *op UNUSED)
{
}

void conversation_watch(struct conversation *c UNUSED, void (*fn)(void *ctx) UNUSED, void *ctx UNUSED)
{
}

void conversation_unwatch(struct conversation *c UNUSED, void (*fn)(void *ctx) UNUSED, void *ctx UNUSED)
{
}

void conversation_end_client(struct conversation *c UNUSED, uint64_t client UNUSED)
{
}

void conversation_each_session(struct conversation *c, void (*fn)(void *ctx, const struct session_info *info),
			       void *ctx)
{
	struct manager *m = c->manager;
	for (unsigned i = 0; i < m->sessions; i++)
		fn(ctx, &(struct session_info){ .id = m->ids[i], .runtime = "python", .status = "running" });
}

static void on_timer(void *ctx)
{
	struct op *op = ctx;
	fake.done++;
	op->finish(op);
	op_free(op);
}

bool conversation_is_adopting(const struct conversation *c UNUSED)
{
	return fake.adopting;
}

static struct op *op_new(struct manager *m, void (*finish)(struct op *op), uint64_t ms)
{
	struct op *op = new0(struct op);
	op->manager = m;
	op->finish = finish;
	op->timer = timer_new(m->loop, on_timer, op);
	timer_start(op->timer, ms, 0);
	list_append(&m->ops, &op->link);
	fake.started++;
	return op;
}

static void finish_await(struct op *op)
{
	struct manager *m = op->manager;
	snprintf(m->ids[0], sizeof(m->ids[0]), "left");
	m->sessions = 1;
	fake.adopting = fake.adopting_long;
	op->await.on_done(op->await.ctx, !fake.adopting);
}

struct op *manager_await(struct conversation *c, const struct await_request *req)
{
	struct op *op = op_new(c->manager, finish_await, 0);
	op->await = *req;
	return op;
}

static void finish_create(struct op *op)
{
	struct manager *m = op->manager;
	char *id = m->ids[m->sessions % ARRAY_LEN(m->ids)];
	snprintf(id, sizeof(m->ids[0]), "s%u", ++fake.created);
	if (m->sessions < ARRAY_LEN(m->ids))
		m->sessions++;
	struct session_info info = { .id = id, .runtime = "python", .status = "running" };
	op->create.on_done(op->create.ctx, &(struct create_result){ .session = &info }, NULL);
}

struct op *manager_create(struct conversation *c, const struct create_request *req, struct fail *f)
{
	struct manager *m = c->manager;
	if (getenv("FAKE_NO_ENGINE")) {
		fail_set(f, FAIL_ENGINE, "the container engine does not answer");
		fail_hint(f, "Start it, e.g. with ./setup-docker.sh.");
		return NULL;
	}
	struct op *op = op_new(m, finish_create, 0);
	op->create = *req;
	return op;
}

static struct mime_bundle picture(size_t bytes)
{
	struct mime_bundle b = { .parts = xcalloc(2, sizeof(struct mime_part)), .n = 2 };
	char *data = png_of_size(bytes / 4 * 3);
	b.parts[0] = (struct mime_part){ .type = xstrdup("image/png"), .data = data, .len = strlen(data) };
	b.parts[1] = (struct mime_part){ .type = xstrdup("text/plain"), .data = xstrdup("<Figure>"), .len = 8 };
	return b;
}

static void script(struct op *op, struct run_result *r)
{
	unsigned n = 0, size = 0;
	if (sscanf(op->text, "plot %u %u", &n, &size) == 2 || (n = strstr(op->text, "plt.") != NULL) > 0) {
		r->displays = xcalloc(n, sizeof(*r->displays));
		for (r->n_displays = 0; r->n_displays < n; r->n_displays++)
			r->displays[r->n_displays] = picture(size);
		for (size_t i = 0; i < n; i++)
			run_result_add_part(r, (struct run_part){ .kind = PART_DISPLAY, .display = i });
	} else if (sscanf(op->text, "flood %u", &n) == 1) {
		r->stdout_text = xmalloc(n + 1);
		memset(r->stdout_text, 'x', n);
		r->stdout_text[n] = '\0';
	} else if (streq(op->text, "raise")) {
		r->ending = ENDING_ERROR;
		r->error_type = xstrdup("ValueError");
		r->error_message = xstrdup("bad");
		r->error_traceback = xstrdup("Traceback (most recent call last):\nValueError: bad");
		run_result_add_part(r, (struct run_part){ .kind = PART_ERROR });
	} else if (strncmp(op->text, "ask", 3) == 0) {
		/* Input for run 7 becomes its output. */
		r->ending = ENDING_WAITING;
		r->run = 7;
		r->prompt = xstrdup("Your name? ");
		r->password = streq(op->text, "ask secret");
		r->stdout_text = xstrdup(streq(op->text, "ask again") ? "" : "before\n");
	} else if (streq(op->text, "timeout")) {
		r->ending = ENDING_TIMEOUT;
		r->stdout_text = xstrdup("so far\n");
	} else {
		r->stdout_text = xasprintf("%s\n", op->text);
	}
}

static void finish_run(struct op *op)
{
	struct run_result r = { .duration_ms = 1 };
	script(op, &r);
	if (!r.stdout_text)
		r.stdout_text = xstrdup("");
	run_result_add_text(&r, PART_STDOUT, xstrdup(r.stdout_text));
	r.stderr_text = xstrdup("");
	r.stdout_bytes = strlen(r.stdout_text);
	op->run.on_done(op->run.ctx, &r, NULL);
	run_result_release(&r);
}

static void on_tick(void *ctx)
{
	struct op *op = ctx;
	op->run.on_output(op->run.ctx, 1, "tick\n", 5);
}

/* --- tasks */

static struct task_info info_of(const struct task *t)
{
	return (struct task_info){ .id = t->id,
				   .session_id = t->session_id,
				   .run = 1,
				   .timeout_seconds = 30,
				   .state = t->state,
				   .created_ms = 1700000000123,
				   .changed_ms = 1700000001000,
				   .ttl_ms = 7200000,
				   .result = t->result };
}

static void end_task(struct task *t, enum task_state state)
{
	const struct task_handler *h = &t->manager->handler;
	struct run_result r = { .ending = ENDING_ERROR, .duration_ms = 1, .run = 1 };
	struct task_info info = info_of(t);
	r.stdout_text = xstrdup("it ran");
	r.stderr_text = xstrdup("");
	run_result_add_text(&r, PART_STDOUT, xstrdup("it ran"));
	t->state = state;
	if (state == TASK_ENDED)
		t->result = t->exact ? xstrdup("{\"content\":[],\"number\":0.12345678901234567}") :
				       h->word(h->config, &info, &r, NULL);
	run_result_release(&r);
	info = info_of(t);
	h->on_change(h->ctx, &info);
}

static void on_task_timer(void *ctx)
{
	end_task(ctx, TASK_ENDED);
}

static void finish_as_task(struct op *op)
{
	struct manager *m = op->manager;
	unsigned ms = 1000000;
	struct task *t = new0(struct task);
	t->manager = m;
	t->session_id = xstrdup(op->session_id);
	snprintf(t->id, sizeof(t->id), "k%u", ++m->n_tasks);
	t->timer = timer_new(m->loop, on_task_timer, t);
	list_append(&m->tasks, &t->link);
	(void)sscanf(op->text, "task %u", &ms);
	t->exact = strstr(op->text, "exact") != NULL;
	timer_start(t->timer, ms, 0);
	struct task_info info = info_of(t);
	op->run.on_task(op->run.ctx, &info);
}

void conversation_take_tasks(struct conversation *c, const struct task_handler *handler)
{
	c->manager->handler = *handler;
}

static struct task *find_task(struct manager *m, const char *id)
{
	list_for_each(t, &m->tasks, struct task, link)
		if (streq(t->id, id))
			return t;
	return NULL;
}

static void finish_task(struct op *op)
{
	struct task *t = find_task(op->manager, op->text);
	struct task_info info = info_of(t);
	bool ends = op->task.cancel && t->state == TASK_WORKING;
	op->task.on_done(op->task.ctx, &info, NULL);
	if (ends)
		end_task(t, TASK_CANCELLED);
}

struct op *manager_task(struct conversation *c, const struct task_request *req, struct fail *f)
{
	if (!find_task(c->manager, req->id)) {
		fail_set(f, streq(req->id, "away") ? FAIL_STORE : FAIL_NOT_FOUND, "there is no task '%s'", req->id);
		return NULL;
	}
	struct op *op = op_new(c->manager, finish_task, 0);
	op->task = *req;
	op->text = xstrdup(req->id);
	return op;
}

static int check_session(const char *id, struct fail *f)
{
	if (streq(id, "gone"))
		return fail_set(f, FAIL_NOT_FOUND, "Session '%s' not found", id);
	if (streq(id, "dead"))
		return fail_set(f, FAIL_DIED, "killed by signal 9 (SIGKILL)");
	return 0;
}

struct op *manager_run(struct conversation *c, const struct run_request *req, struct fail *f)
{
	struct manager *m = c->manager;
	unsigned ms = 0;
	const char *text = req->text ? req->text : req->input ? req->input : req->run ? "ask again" : "";
	if (check_session(req->session_id, f) < 0)
		return NULL;
	bool chatter = sscanf(text, "chatter %u", &ms) == 1 && req->on_output;
	if (!chatter && sscanf(text, "after %u", &ms) != 1)
		ms = 0;
	bool task = req->on_task && strncmp(text, "task", 4) == 0;
	struct op *op = op_new(m, task ? finish_as_task : finish_run, streq(text, "wait") ? 1000000 : ms);
	op->run = *req;
	op->session_id = xstrdup(req->session_id);
	op->text = req->text ? xstrndup(text, req->len) : xstrdup(text);
	if (chatter) {
		op->ticker = timer_new(m->loop, on_tick, op);
		timer_start(op->ticker, 10, 10);
	}
	return op;
}

static void finish_stop(struct op *op)
{
	op->stop.on_done(op->stop.ctx, NULL);
}

struct op *manager_run_text(struct conversation *c UNUSED, const struct run_text_request *req UNUSED, struct fail *f)
{
	fail_set(f, FAIL_NOT_FOUND, "no such session");
	return NULL;
}

struct op *manager_stop(struct conversation *c, const struct stop_request *req, struct fail *f)
{
	struct manager *m = c->manager;
	if (check_session(req->session_id, f) < 0)
		return NULL;
	struct op *op = op_new(m, finish_stop, 0);
	op->stop = *req;
	return op;
}

/* One checkpoint, "a"; every other name is unknown. */
static void finish_checkpoint(struct op *op)
{
	const struct checkpoint_request *req = &op->checkpoint;
	AUTO(fail_release) struct fail f = { 0 };
	struct checkpoint_info one = { .name = (char *)"a", .run = 3 };
	struct restored restored = { .run = 3, .missing = { 4 }, .n_missing = 1 };
	struct checkpoint_answer answer = { .checkpoints = &one, .n_checkpoints = 1 };
	bool known = op->known || req->action == CHECKPOINT_SAVE;
	answer.saved = req->action == CHECKPOINT_SAVE ? &one : NULL;
	answer.restored = req->action == CHECKPOINT_UNDO ? &restored : NULL;
	if (!known) {
		fail_set(&f, FAIL_NOT_FOUND, "There is no such checkpoint.");
		fail_hint(&f, "There are these: 'a' (after run 3).");
	}
	req->on_done(req->ctx, known ? &answer : NULL, &f);
}

struct op *manager_checkpoint(struct conversation *c, const struct checkpoint_request *req, struct fail *f)
{
	if (check_session(req->session_id, f) < 0)
		return NULL;
	struct op *op = op_new(c->manager, finish_checkpoint, 0);
	op->checkpoint = *req;
	op->known = req->name ? streq(req->name, "a") : req->run == 3;
	return op;
}

/* One run and one variable, unless the session is "mute". */
static void finish_info(struct op *op)
{
	struct run_info run = { .number = 3, .kind = RUN_TERMINAL, .state = "running", .age_ms = 1234 };
	struct variable variable = { (char *)"df", (char *)"pandas.DataFrame", (char *)"10 x 2", 160 };
	bool mute = streq(op->session_id, "mute");
	struct session_status status = { .answered = true,
					 .memory = 1000,
					 .memory_limit = 2000,
					 .disks[0] = { (char *)"/workspace", 10, 20 },
					 .n_disks = 1,
					 .has_variables = true,
					 .fresh = !streq(op->session_id, "busy"),
					 .variables = &variable,
					 .n_variables = 1,
					 .more = 7 };
	struct session_details details = {
		.session = { .id = op->session_id, .runtime = "python", .status = "running", .idle_seconds = 5 },
		.left_seconds = mute ? UINT64_MAX : 100,
		.idle_left_seconds = op->info.keep_alive ? 60 : 55,
		.runs = &run,
		.n_runs = mute ? 0 : 1,
		.status = mute ? &(struct session_status){ 0 } : &status,
	};
	op->info.on_done(op->info.ctx, &details, NULL);
}

struct op *manager_info(struct conversation *c, const struct info_request *req, struct fail *f)
{
	struct manager *m = c->manager;
	if (check_session(req->session_id, f) < 0)
		return NULL;
	struct op *op = op_new(m, finish_info, 0);
	op->info = *req;
	op->session_id = xstrdup(req->session_id);
	return op;
}

/* --- records: run 3 has printed "hello" and shown 400,000 bytes of HTML ------------------------------------------------- */

static void finish_runs(struct op *op)
{
	op->runs.on_done(op->runs.ctx, &(struct run_record){ .number = 3 }, 1, /* more= */ false, NULL);
}

static void finish_record(struct op *op)
{
	AUTO(freep) char *data = xmalloc(400001);
	for (size_t i = 0; i < 200000; i++)
		memcpy(data + 2 * i, "é", 2);
	data[400000] = '\0';
	struct mime_part types[] = { { .type = (char *)"text/html", .data = data, .len = 400000 },
				     { .type = (char *)"text/plain", .data = (char *)"chart", .len = 5 } };
	struct mime_bundle bundle = { .parts = types, .n = ARRAY_LEN(types) };
	const struct record_part parts[] = { { .kind = PART_STDOUT, .text = "hello", .len = 5, .event = 5 },
					     { .kind = PART_DISPLAY, .bundle = &bundle, .event = 6 } };
	const struct run_record record = { .number = op->record.number,
					   .kind = RUN_CODE,
					   .text = "show()",
					   .len = 6,
					   .state = RECORD_RUNNING,
					   .parts = parts,
					   .n_parts = ARRAY_LEN(parts),
					   .journal = 7 };
	AUTO(fail_release) struct fail f = { 0 };
	cause_set(&f, FAIL_NOT_FOUND, CAUSE_NO_RUN, "there is no record of run %llu in this session",
		  (unsigned long long)op->record.number);
	bool known = op->record.number == 3;
	op->record.on_done(op->record.ctx, known ? &record : NULL, known ? NULL : &f);
}

struct op *manager_runs(struct conversation *c, const struct runs_request *req, struct fail *f)
{
	if (check_session(req->session_id, f) < 0)
		return NULL;
	struct op *op = op_new(c->manager, finish_runs, 0);
	op->runs = *req;
	return op;
}

struct op *manager_run_record(struct conversation *c, const struct run_record_request *req, struct fail *f)
{
	if (check_session(req->session_id, f) < 0)
		return NULL;
	struct op *op = op_new(c->manager, finish_record, 0);
	op->record = *req;
	return op;
}

/* --- files: every entry succeeds but those that are called "bad"; there is one export ----------------------------- */

static struct export_info an_export(void)
{
	return (struct export_info){ .id = (char *)"e1",
				     .session_id = (char *)"s1",
				     .path = (char *)"/workspace/e.txt",
				     .name = (char *)"e.txt",
				     .mime = (char *)"text/plain",
				     .hash = (char *)"00",
				     .host_path = (char *)"/exports/00/e.txt",
				     .uri = (char *)"husk://exports/e1/e.txt",
				     .size = 5,
				     .stored = 5,
				     .created_ms = 1000 };
}

static void finish_copy(struct op *op)
{
	struct copy_result *results = xcalloc(op->copy.n, sizeof(*results));
	for (size_t i = 0; i < op->copy.n; i++) {
		bool bad = op->text[i] == 'b';
		results[i] = (struct copy_result){ .source = (char *)"source",
						   .path = (char *)"/workspace/e.txt",
						   .success = !bad,
						   .size = bad ? 0 : 5,
						   .failure.message = bad ? (char *)"bad \xff" : NULL };
		if (!bad && op->copy.exports)
			results[i].export = an_export();
	}
	op->copy.on_done(op->copy.ctx, results, op->copy.n, NULL);
	free(results);
}

struct op *manager_copy(struct conversation *c, const struct copy_request *req, struct fail *f)
{
	struct manager *m = c->manager;
	if (check_session(req->session_id, f) < 0)
		return NULL;
	struct op *op = op_new(m, finish_copy, 0);
	op->copy = *req;
	op->text = xcalloc(req->n + 1, 1);
	fake.allowed[0] = '\0';
	for (size_t i = 0, at = 0; req->allowed && i < req->allowed->n && at < sizeof(fake.allowed); i++)
		at += (size_t)snprintf(fake.allowed + at, sizeof(fake.allowed) - at, "%s%s", i ? ":" : "",
				       req->allowed->v[i]);
	for (size_t i = 0; i < req->n; i++) {
		const char *name = req->exports ? req->exports[i] : req->imports[i].source;
		op->text[i] = name && streq(name, "bad") ? 'b' : 'g';
	}
	return op;
}

static void finish_exports(struct op *op)
{
	struct export_info e = an_export();
	op->exports.on_done(op->exports.ctx, &e, 1, NULL);
}

struct op *manager_exports(struct conversation *c, const struct exports_request *req, struct fail *f)
{
	struct manager *m = c->manager;
	struct op *op = op_new(m, finish_exports, 0);
	op->exports = *req;
	return op;
}

static void finish_read(struct op *op)
{
	struct export_info e = an_export();
	bool known = streq(op->text, "e1");
	op->read.on_done(op->read.ctx, known ? &e : NULL, known ? (const uint8_t *)"hello" : NULL, known ? 5 : 0, NULL);
}

struct op *manager_read_export(struct conversation *c, const struct read_request *req, struct fail *f)
{
	struct manager *m = c->manager;
	struct op *op = op_new(m, finish_read, 0);
	op->read = *req;
	op->text = xstrdup(req->id);
	return op;
}

void manager_note_shown(struct conversation *c UNUSED, const char *session UNUSED, uint64_t run UNUSED,
			const char *content UNUSED)
{
}
