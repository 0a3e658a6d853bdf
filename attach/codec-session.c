/* Sessions: description, state and creation. */
#include "attach/codec.h"

#include "attach/fields.h"
#include "base/alloc.h"

#define SESSIONS_MAX 10000
#define RUNS_MAX 2048
#define LISTED_VARIABLES_MAX 1000
#define DEPENDENCIES_MAX 1000

static const char *const run_kinds[] = { [RUN_CODE] = "code", [RUN_TERMINAL] = "terminal" };

/* --- description --------------------------------------------------------------------------------------------------- */

static json_t *limits_encode(const struct limits *l)
{
	json_t *out = json_object();
	fields_put_number(out, "memory", l->memory);
	fields_put_number(out, "cpu_quota", l->cpu_quota);
	fields_put_number(out, "pids", l->pids);
	fields_put_number(out, "tmpfs", l->tmpfs);
	fields_put_number(out, "home", l->home);
	return out;
}

static int limits_decode(const json_t *json, struct limits *ret, struct fail *f)
{
	struct fields in = { .json = json };
	*ret = (struct limits){ .memory = fields_number(&in, "memory", UINT64_MAX),
				.cpu_quota = fields_number(&in, "cpu_quota", UINT64_MAX),
				.pids = fields_number(&in, "pids", UINT64_MAX),
				.tmpfs = fields_number(&in, "tmpfs", UINT64_MAX),
				.home = fields_number(&in, "home", UINT64_MAX) };
	return fields_check(&in, f);
}

json_t *session_info_encode(const struct session_info *info)
{
	json_t *out = json_object();
	fields_put_text(out, "id", info->id);
	fields_put_text(out, "name", info->name);
	fields_put_text(out, "runtime", info->runtime);
	fields_put_text(out, "status", info->status);
	fields_put_number(out, "age_seconds", info->age_seconds);
	fields_put_number(out, "idle_seconds", info->idle_seconds);
	fields_put_text(out, "dependencies", info->dependencies);
	fields_put_text(out, "transport", info->transport);
	json_object_set_new(out, "limits", limits_encode(&info->limits));
	return out;
}

int session_info_decode(const json_t *json, struct session_info *ret, struct fail *f)
{
	struct fields in = { .json = json };
	struct session_info info = { .id = fields_text(&in, "id"),
				     .name = fields_text(&in, "name"),
				     .runtime = fields_text(&in, "runtime"),
				     .status = fields_text(&in, "status"),
				     .age_seconds = fields_number(&in, "age_seconds", UINT64_MAX),
				     .idle_seconds = fields_number(&in, "idle_seconds", UINT64_MAX),
				     .dependencies = fields_text(&in, "dependencies"),
				     .transport = fields_text(&in, "transport") };
	if (fields_check(&in, f) < 0 || limits_decode(json_object_get(json, "limits"), &info.limits, f) < 0)
		return -1;
	if (!info.id || !info.runtime || !info.status)
		return fail_set(f, FAIL_INVALID, "a session lacks its id, runtime or status");
	*ret = info;
	return 0;
}

json_t *sessions_encode(const struct session_info *v, size_t n)
{
	json_t *out = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(out, session_info_encode(&v[i]));
	return out;
}

int sessions_decode(const json_t *json, struct session_info **ret, size_t *ret_n, struct fail *f)
{
	size_t n = json_array_size(json);
	if (!json_is_array(json) || n > SESSIONS_MAX)
		return fail_set(f, FAIL_INVALID, "the list of sessions is malformed");
	AUTO(freep) struct session_info *v = xcalloc(n + 1, sizeof(*v));
	for (size_t i = 0; i < n; i++)
		if (session_info_decode(json_array_get(json, i), &v[i], f) < 0)
			return -1;
	*ret = take_ptr(v);
	*ret_n = n;
	return 0;
}

/* --- state --------------------------------------------------------------------------------------------------------- */

static json_t *status_encode(const struct session_status *l)
{
	json_t *out = json_object(), *disks = json_array(), *variables = json_array();
	fields_put_bool(out, "answered", l->answered);
	fields_put_bool(out, "busy", l->busy);
	fields_put_number(out, "memory", l->memory);
	fields_put_number(out, "memory_limit", l->memory_limit);
	fields_put_number(out, "ptys", l->ptys);
	fields_put_bool(out, "no_landlock", l->no_landlock);
	for (size_t i = 0; i < l->n_disks; i++) {
		json_t *disk = json_object();
		fields_put_text(disk, "path", l->disks[i].path);
		fields_put_number(disk, "used", l->disks[i].used);
		fields_put_number(disk, "size", l->disks[i].size);
		json_array_append_new(disks, disk);
	}
	json_object_set_new(out, "disks", disks);
	fields_put_bool(out, "has_variables", l->has_variables);
	fields_put_bool(out, "fresh", l->fresh);
	for (size_t i = 0; i < l->n_variables; i++) {
		json_t *variable = json_object();
		fields_put_text(variable, "name", l->variables[i].name);
		fields_put_text(variable, "type", l->variables[i].type);
		fields_put_text(variable, "shape", l->variables[i].shape);
		fields_put_number(variable, "bytes", l->variables[i].bytes);
		json_array_append_new(variables, variable);
	}
	json_object_set_new(out, "variables", variables);
	fields_put_number(out, "more", l->more);
	return out;
}

static int variables_decode(const json_t *json, struct session_status *ret, struct fail *f)
{
	ret->variables = xcalloc(json_array_size(json) + 1, sizeof(*ret->variables));
	for (size_t i = 0; i < json_array_size(json); i++) {
		struct fields in = { .json = json_array_get(json, i) };
		ret->variables[ret->n_variables++] =
			(struct variable){ .name = fields_copy_or_empty(&in, "name"),
					   .type = fields_copy_or_empty(&in, "type"),
					   .shape = fields_copy_or_empty(&in, "shape"),
					   .bytes = fields_number(&in, "bytes", UINT64_MAX) };
		if (fields_check(&in, f) < 0)
			return -1;
	}
	return 0;
}

static int disks_decode(const json_t *json, struct session_status *ret, struct fail *f)
{
	for (size_t i = 0; i < json_array_size(json); i++) {
		struct fields in = { .json = json_array_get(json, i) };
		struct disk *disk = &ret->disks[ret->n_disks++];
		disk->path = fields_copy_or_empty(&in, "path");
		disk->used = fields_number(&in, "used", UINT64_MAX);
		disk->size = fields_number(&in, "size", UINT64_MAX);
		if (fields_check(&in, f) < 0)
			return -1;
	}
	return 0;
}

static int status_decode(const json_t *json, struct session_status *ret, struct fail *f)
{
	struct fields in = { .json = json };
	*ret = (struct session_status){ .answered = fields_bool(&in, "answered"),
					.busy = fields_bool(&in, "busy"),
					.memory = fields_number(&in, "memory", UINT64_MAX),
					.memory_limit = fields_number(&in, "memory_limit", UINT64_MAX),
					.ptys = fields_number(&in, "ptys", UINT64_MAX),
					.no_landlock = fields_bool(&in, "no_landlock"),
					.has_variables = fields_bool(&in, "has_variables"),
					.fresh = fields_bool(&in, "fresh"),
					.more = fields_number(&in, "more", UINT64_MAX) };
	const json_t *disks = fields_list(&in, "disks", STATUS_DISKS_MAX),
		     *variables = fields_list(&in, "variables", LISTED_VARIABLES_MAX);
	if (fields_check(&in, f) < 0 || disks_decode(disks, ret, f) < 0)
		return -1;
	return variables_decode(variables, ret, f);
}

json_t *session_details_encode(const struct session_details *d)
{
	json_t *out = json_object(), *runs = json_array();
	json_object_set_new(out, "session", session_info_encode(&d->session));
	if (d->left_seconds != UINT64_MAX)
		json_object_set_new(out, "left_seconds", json_integer((json_int_t)d->left_seconds));
	if (d->idle_left_seconds != UINT64_MAX)
		json_object_set_new(out, "idle_left_seconds", json_integer((json_int_t)d->idle_left_seconds));
	for (size_t i = 0; i < d->n_runs; i++) {
		json_t *run = json_object();
		fields_put_number(run, "number", d->runs[i].number);
		fields_put_text(run, "kind", run_kinds[d->runs[i].kind == RUN_TERMINAL]);
		fields_put_text(run, "state", d->runs[i].state);
		fields_put_number(run, "age_ms", d->runs[i].age_ms);
		json_array_append_new(runs, run);
	}
	json_object_set_new(out, "runs", runs);
	if (d->status)
		json_object_set_new(out, "look", status_encode(d->status));
	return out;
}

static int runs_decode(const json_t *json, struct run_info *v, struct fail *f)
{
	for (size_t i = 0; i < json_array_size(json); i++) {
		struct fields in = { .json = json_array_get(json, i) };
		v[i] = (struct run_info){ .number = fields_number(&in, "number", UINT32_MAX),
					  .kind = (enum run_kind)fields_choice(&in, "kind", run_kinds,
									       ARRAY_LEN(run_kinds)),
					  .state = fields_text(&in, "state"),
					  .age_ms = fields_number(&in, "age_ms", UINT64_MAX) };
		if (fields_check(&in, f) < 0)
			return -1;
		if (!v[i].state)
			return fail_set(f, FAIL_INVALID, "a run has no state");
	}
	return 0;
}

int session_details_decode(const json_t *json, struct session_details *ret, struct run_info **ret_runs,
			   struct session_status *ret_status, struct fail *f)
{
	struct fields in = { .json = json };
	struct session_details d = { .left_seconds = fields_number_or_none(&in, "left_seconds"),
				     .idle_left_seconds = fields_number_or_none(&in, "idle_left_seconds") };
	const json_t *runs = fields_list(&in, "runs", RUNS_MAX), *status = fields_object(&in, "look");
	*ret_status = (struct session_status){ 0 };
	*ret_runs = xcalloc(json_array_size(runs) + 1, sizeof(**ret_runs));
	if (fields_check(&in, f) < 0 || session_info_decode(json_object_get(json, "session"), &d.session, f) < 0 ||
	    runs_decode(runs, *ret_runs, f) < 0 || (status && status_decode(status, ret_status, f) < 0))
		return -1;
	d.runs = *ret_runs;
	d.n_runs = json_array_size(runs);
	d.status = ret_status;
	*ret = d;
	return 0;
}

/* --- creation ------------------------------------------------------------------------------------------------------ */

json_t *create_request_encode(const struct create_request *req)
{
	json_t *out = json_object();
	fields_put_text(out, "runtime", req->runtime ? req->runtime->name : NULL);
	fields_put_text(out, "name", req->name);
	fields_put_text(out, "image", req->image);
	fields_put_bool(out, "network", req->network);
	if (req->n_dependencies) {
		json_t *dependencies = json_object();
		for (size_t i = 0; i < req->n_dependencies; i++)
			fields_put_text(dependencies, req->dependencies[i].name, req->dependencies[i].version);
		json_object_set_new(out, "dependencies", dependencies);
	}
	fields_put_number(out, "memory", req->limits.memory);
	fields_put_number(out, "disk", req->limits.disk);
	if (req->limits.cpus > 0)
		json_object_set_new(out, "cpus", json_real(req->limits.cpus));
	if (req->n_env)
		json_object_set_new(out, "env", env_encode(req->env, req->n_env));
	fields_put_text(out, "cwd", req->cwd);
	fields_put_bool(out, "live", req->on_output != NULL);
	return out;
}

void create_parts_release(struct create_parts *parts)
{
	free(parts->env);
	free(parts->dependencies);
	*parts = (struct create_parts){ 0 };
}

static int dependencies_decode(const json_t *json, struct create_request *r, struct create_parts *parts, struct fail *f)
{
	const char *name;
	json_t *version;
	if (json_object_size(json) > DEPENDENCIES_MAX)
		return fail_set(f, FAIL_INVALID, "at most %d dependencies", DEPENDENCIES_MAX);
	parts->dependencies = xcalloc(json_object_size(json) + 1, sizeof(*parts->dependencies));
	json_object_foreach((json_t *)json, name, version) {
		if (!json_is_string(version))
			return fail_set(f, FAIL_INVALID, "the version of '%.64s' is not a string", name);
		parts->dependencies[r->n_dependencies++] = (struct dependency){ name, json_string_value(version) };
	}
	r->dependencies = parts->dependencies;
	return 0;
}

int create_request_decode(const json_t *json, struct create_request *ret, struct create_parts *ret_parts,
			  struct fail *f)
{
	struct fields in = { .json = json };
	const char *runtime = fields_text(&in, "runtime");
	struct create_request r = { .runtime = runtime ? runtime_find(runtime) : NULL,
				    .name = fields_text(&in, "name"),
				    .image = fields_text(&in, "image"),
				    .network = fields_bool(&in, "network"),
				    .limits = { .memory = fields_number(&in, "memory", UINT64_MAX),
						.disk = fields_number(&in, "disk", UINT64_MAX),
						.cpus = fields_real(&in, "cpus") },
				    .cwd = fields_text(&in, "cwd") };
	const json_t *dependencies = fields_object(&in, "dependencies"), *env = fields_object(&in, "env");
	if (fields_check(&in, f) < 0 || dependencies_decode(dependencies, &r, ret_parts, f) < 0 ||
	    env_decode(env, &ret_parts->env, &r.n_env, f) < 0)
		return -1;
	if (!r.runtime)
		return fail_set(f, FAIL_INVALID, "this server has no runtime '%.64s'", runtime ? runtime : "");
	r.env = ret_parts->env;
	*ret = r;
	return 0;
}
