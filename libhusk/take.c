#include "libhusk/take.h"

#include "base/alloc.h"
#include "libhusk/error.h"

/* --- sessions ------------------------------------------------------------------------------------------------------ */

struct owned_session {
	struct husk_session
		session; /* must be first, as in the structs below: the caller gets its address, and frees it */
	struct pool pool;
};

static void take_limits(struct husk_session *s, const struct limits *limits)
{
	s->memory_limit = limits->memory;
	s->disk_limit = limits->home;
	s->cpus = limits_cpus(limits);
}

static void fill_session(struct pool *p, struct husk_session *s, const struct session_info *info)
{
	s->id = pool_text(p, info->id);
	s->name = pool_text(p, info->name);
	s->language = pool_text(p, info->runtime);
	s->status = pool_text(p, info->status);
	s->dependencies = pool_text(p, info->dependencies);
	s->age_seconds = info->age_seconds;
	s->idle_seconds = info->idle_seconds;
	take_limits(s, &info->limits);
}

struct husk_session *take_session(const struct session_info *info, const char *note)
{
	struct owned_session *o = new0(struct owned_session);
	fill_session(&o->pool, &o->session, info);
	o->session.note = pool_text(&o->pool, note);
	return &o->session;
}

void husk_session_free(struct husk_session *s)
{
	if (!s)
		return;
	struct owned_session *o = container_of(s, struct owned_session, session);
	pool_release(&o->pool);
	free(o);
}

struct owned_sessions {
	struct husk_sessions list;
	struct pool pool;
	const struct husk_session **v;
};

struct husk_sessions *take_nothing(void)
{
	return &new0(struct owned_sessions)->list;
}

static struct husk_session *add_session(struct owned_sessions *o)
{
	struct husk_session *s = pool_new(&o->pool, struct husk_session);
	o->v = xrealloc(o->v, (o->list.n + 1) * sizeof(struct husk_session *));
	o->v[o->list.n++] = s;
	o->list.v = o->v;
	return s;
}

void take_add(struct husk_sessions *list, const struct session_info *info)
{
	struct owned_sessions *o = container_of(list, struct owned_sessions, list);
	fill_session(&o->pool, add_session(o), info);
}

struct husk_sessions *take_listed(const struct listed_session *v, size_t n, const struct fail *unsure)
{
	struct husk_sessions *list = take_nothing();
	struct owned_sessions *o = container_of(list, struct owned_sessions, list);
	for (size_t i = 0; i < n; i++) {
		struct husk_session *s = add_session(o);
		s->id = pool_text(&o->pool, v[i].id);
		s->name = streq(v[i].name, "-") ? NULL : pool_text(&o->pool, v[i].name);
		s->language = pool_text(&o->pool, v[i].runtime);
		s->status = pool_text(&o->pool, v[i].state);
		s->conversation = pool_text(&o->pool, v[i].conversation);
		s->owner = pool_text(&o->pool, v[i].owner);
		s->age_seconds = v[i].age_seconds;
		s->idle_seconds = v[i].idle_seconds;
		s->left_seconds = v[i].left_seconds;
		s->memory = v[i].has_memory ? v[i].memory : 0;
		take_limits(s, &v[i].limits);
	}
	list->unsure = unsure ? pool_text(&o->pool, unsure->message) : NULL;
	return list;
}

void husk_sessions_free(struct husk_sessions *s)
{
	if (!s)
		return;
	struct owned_sessions *o = container_of(s, struct owned_sessions, list);
	pool_release(&o->pool);
	free(o->v);
	free(o);
}

/* --- status --------------------------------------------------------------------------------------------------------- */

struct owned_status {
	struct husk_look status;
	struct pool pool;
};

static void fill_runs(struct pool *p, struct husk_look *to, const struct session_details *from)
{
	const struct husk_run_state **runs = pool_alloc(p, from->n_runs, sizeof(*runs));
	for (size_t i = 0; i < from->n_runs; i++) {
		struct husk_run_state *run = pool_new(p, struct husk_run_state);
		run->number = from->runs[i].number;
		run->kind = from->runs[i].kind == RUN_TERMINAL ? "terminal" : "code";
		run->state = pool_text(p, from->runs[i].state);
		run->age_ms = from->runs[i].age_ms;
		runs[i] = run;
	}
	to->runs = runs;
	to->n_runs = from->n_runs;
}

static void fill_disks(struct pool *p, struct husk_look *to, const struct session_status *from)
{
	const struct husk_disk **disks = pool_alloc(p, from->n_disks, sizeof(*disks));
	for (size_t i = 0; i < from->n_disks; i++) {
		struct husk_disk *disk = pool_new(p, struct husk_disk);
		disk->path = pool_text(p, from->disks[i].path);
		disk->used = from->disks[i].used;
		disk->size = from->disks[i].size;
		disks[i] = disk;
	}
	to->disks = disks;
	to->n_disks = from->n_disks;
}

static void fill_variables(struct pool *p, struct husk_look *to, const struct session_status *from)
{
	const struct husk_variable **variables = pool_alloc(p, from->n_variables, sizeof(*variables));
	for (size_t i = 0; i < from->n_variables; i++) {
		struct husk_variable *v = pool_new(p, struct husk_variable);
		v->name = pool_text(p, from->variables[i].name);
		v->type = pool_text(p, from->variables[i].type);
		v->shape = pool_text(p, from->variables[i].shape);
		v->bytes = from->variables[i].bytes;
		variables[i] = v;
	}
	to->variables = variables;
	to->n_variables = from->n_variables;
	to->has_variables = from->has_variables;
	to->fresh = from->fresh;
	to->more_variables = from->more;
}

struct husk_look *take_status(const struct session_details *details)
{
	struct owned_status *o = new0(struct owned_status);
	struct husk_look *l = &o->status;
	struct husk_session *s = pool_new(&o->pool, struct husk_session);
	fill_session(&o->pool, s, &details->session);
	l->session = s;
	l->left_seconds = details->left_seconds;
	l->idle_left_seconds = details->idle_left_seconds;
	l->answered = details->status->answered;
	l->memory = details->status->memory;
	l->memory_limit = details->status->memory_limit;
	fill_runs(&o->pool, l, details);
	fill_disks(&o->pool, l, details->status);
	fill_variables(&o->pool, l, details->status);
	l->checkpoints = take_checkpoint_list(&o->pool, details->status->checkpoints, details->status->n_checkpoints);
	l->n_checkpoints = details->status->n_checkpoints;
	l->branches = take_checkpoint_list(&o->pool, details->status->branches, details->status->n_branches);
	l->n_branches = details->status->n_branches;
	l->no_checkpoints = pool_text(&o->pool, details->status->no_checkpoints);
	return l;
}

void husk_look_free(struct husk_look *l)
{
	if (!l)
		return;
	struct owned_status *o = container_of(l, struct owned_status, status);
	pool_release(&o->pool);
	free(o);
}

/* --- results ------------------------------------------------------------------------------------------------------- */

struct owned_result {
	struct husk_result result;
	struct pool pool;
};

static const struct husk_bundle *bundle(struct pool *p, const struct mime_bundle *from)
{
	struct husk_bundle *b = pool_new(p, struct husk_bundle);
	const struct husk_part **parts = pool_alloc(p, from->n, sizeof(*parts));
	for (size_t i = 0; i < from->n; i++) {
		struct husk_part *part = pool_new(p, struct husk_part);
		part->type = pool_text(p, from->parts[i].type);
		part->data = pool_bytes(p, from->parts[i].data, from->parts[i].len);
		part->n = from->parts[i].len;
		parts[i] = part;
	}
	b->n = from->n;
	b->parts = parts;
	return b;
}

static void fill_result(struct pool *p, struct husk_result *r, const struct run_result *from);

static void fill_earlier(struct pool *p, struct husk_result *r, const struct run_result *from)
{
	const struct husk_result **earlier = pool_alloc(p, from->n_earlier, sizeof(*earlier));
	uint64_t *running = pool_alloc(p, from->n_earlier, sizeof(*running));
	r->running = running;
	for (size_t i = 0; i < from->n_earlier; i++) {
		if (!from->earlier[i].ended) {
			running[r->n_running++] = from->earlier[i].seq;
			continue;
		}
		struct husk_result *one = pool_new(p, struct husk_result);
		fill_result(p, one, &from->earlier[i].result);
		earlier[r->n_earlier++] = one;
	}
	r->earlier = earlier;
}

static void fill_displays(struct pool *p, struct husk_result *r, const struct run_result *from)
{
	const struct husk_bundle **displays = pool_alloc(p, from->n_displays, sizeof(*displays));
	for (size_t i = 0; i < from->n_displays; i++)
		displays[i] = bundle(p, &from->displays[i]);
	r->displays = displays;
	r->n_displays = from->n_displays;
	r->displays_dropped = from->displays_dropped;
	r->value = from->result.n ? bundle(p, &from->result) : NULL;
}

static void fill_result(struct pool *p, struct husk_result *r, const struct run_result *from)
{
	r->ending = ending_name(from->ending);
	r->detail = pool_text(p, from->detail);
	r->cause = cause_name(from->cause);
	r->out = pool_text(p, from->stdout_text ? from->stdout_text : "");
	r->err = pool_text(p, from->stderr_text ? from->stderr_text : "");
	r->out_bytes = from->stdout_bytes;
	r->err_bytes = from->stderr_bytes;
	r->out_truncated = from->stdout_truncated;
	r->err_truncated = from->stderr_truncated;
	r->error_type = pool_text(p, from->error_type);
	r->error_message = pool_text(p, from->error_message);
	r->error_traceback = pool_text(p, from->error_traceback);
	r->has_exit_code = from->has_exit_code;
	r->exit_code = from->exit_code;
	r->signal = from->signal;
	r->duration_ms = from->duration_ms;
	r->memory_peak = from->memory_peak;
	r->memory_limit = from->memory_limit;
	r->oom_kills = from->oom_kills;
	r->kernel_restarted = from->kernel_restarted;
	r->session_gone = from->kernel_gone;
	r->notice = pool_text(p, from->notice);
	r->run = from->run;
	r->queued = from->queued;
	r->behind = from->behind;
	r->lost = pool_text(p, from->lost);
	r->prompt = from->ending == ENDING_WAITING ? pool_text(p, from->prompt ? from->prompt : "") : NULL;
	r->password = from->password;
	r->restored = take_restored(p, from->restored);
	r->branch = *from->branch ? pool_text(p, from->branch) : NULL;
	fill_displays(p, r, from);
	fill_earlier(p, r, from);
}

struct husk_result *take_result(const struct run_result *result)
{
	struct owned_result *o = new0(struct owned_result);
	fill_result(&o->pool, &o->result, result);
	return &o->result;
}

void husk_result_free(struct husk_result *r)
{
	if (!r)
		return;
	struct owned_result *o = container_of(r, struct owned_result, result);
	pool_release(&o->pool);
	free(o);
}

const char *husk_text(const struct husk_result *r)
{
	for (size_t i = 0; r && r->value && i < r->value->n; i++)
		if (streq(r->value->parts[i]->type, "text/plain"))
			return r->value->parts[i]->data;
	return "";
}

/* --- files --------------------------------------------------------------------------------------------------------- */

struct owned_files {
	struct husk_files files;
	struct pool pool;
};

static struct husk_file *files_new(struct owned_files **ret, size_t n)
{
	struct owned_files *o = *ret = new0(struct owned_files);
	struct husk_file *v = pool_alloc(&o->pool, n, sizeof(*v));
	const struct husk_file **pointers = pool_alloc(&o->pool, n, sizeof(*pointers));
	for (size_t i = 0; i < n; i++)
		pointers[i] = &v[i];
	o->files = (struct husk_files){ .n = n, .v = pointers, .success = 1 };
	return v;
}

static void fill_export(struct pool *p, struct husk_file *f, const struct export_info *info)
{
	f->id = pool_text(p, info->id);
	f->session = pool_text(p, info->session_id);
	f->name = pool_text(p, info->name);
	f->mime = pool_text(p, info->mime);
	f->hash = pool_text(p, info->hash);
	f->uri = pool_text(p, info->uri);
	f->host_path = pool_text(p, info->host_path);
	f->folder = info->directory;
	f->stored = info->stored;
	f->created_ms = info->created_ms;
}

static void fill_copy(struct pool *p, struct husk_file *f, const struct copy_result *from)
{
	const char **notices = pool_alloc(p, from->notices.n, sizeof(*notices));
	f->success = from->success;
	f->source = pool_text(p, from->source);
	f->path = pool_text(p, from->path ? from->path : from->source);
	f->bytes = from->size;
	f->error = from->success ? NULL : error_in(p, &from->failure);
	for (size_t i = 0; i < from->notices.n; i++)
		notices[i] = pool_text(p, from->notices.v[i]);
	f->notices = notices;
	f->n_notices = from->notices.n;
	if (from->success && from->export.id)
		fill_export(p, f, &from->export);
}

struct husk_files *take_copies(const struct copy_result *results, size_t n, const char *session)
{
	struct owned_files *o = NULL;
	struct husk_file *v = files_new(&o, n);
	for (size_t i = 0; i < n; i++) {
		fill_copy(&o->pool, &v[i], &results[i]);
		v[i].session = pool_text(&o->pool, session);
		o->files.success &= results[i].success;
	}
	return &o->files;
}

struct husk_files *take_exports(const struct export_info *v, size_t n)
{
	struct owned_files *o = NULL;
	struct husk_file *files = files_new(&o, n);
	for (size_t i = 0; i < n; i++) {
		files[i].success = 1;
		files[i].path = pool_text(&o->pool, v[i].path);
		files[i].bytes = v[i].size;
		fill_export(&o->pool, &files[i], &v[i]);
	}
	return &o->files;
}

void husk_files_free(struct husk_files *f)
{
	if (!f)
		return;
	struct owned_files *o = container_of(f, struct owned_files, files);
	pool_release(&o->pool);
	free(o);
}

/* --- history ------------------------------------------------------------------------------------------------------- */

struct owned_history {
	struct husk_history history;
	struct pool pool;
};

struct husk_history *take_history(const struct history *history)
{
	struct owned_history *o = new0(struct owned_history);
	const struct husk_execution **v = pool_alloc(&o->pool, history->n, sizeof(*v));
	for (size_t i = 0; i < history->n; i++) {
		const struct executed *from = &history->v[i];
		struct husk_execution *to = pool_new(&o->pool, struct husk_execution);
		to->number = from->seq;
		to->kind = pool_text(&o->pool, from->tool);
		to->started_ms = from->started_ms;
		to->ended_ms = from->ended_ms;
		to->ending = pool_text(&o->pool, from->ending);
		to->in_bytes = from->in_bytes;
		to->out_bytes = from->out_bytes;
		v[i] = to;
	}
	o->history = (struct husk_history){ .n = history->n, .v = v };
	return &o->history;
}

void husk_history_free(struct husk_history *r)
{
	if (!r)
		return;
	struct owned_history *o = container_of(r, struct owned_history, history);
	pool_release(&o->pool);
	free(o);
}
