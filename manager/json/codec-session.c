/* Sessions: description, state and creation. */
#include "manager/json/codec.h"

#include "base/alloc.h"
#include "base/json.h"
#include "manager/json/fields.h"

#define RUNS_MAX 2048
#define LISTED_VARIABLES_MAX 1000
#define DEPENDENCIES_MAX 1000

static const char *const run_kinds[] = { [RUN_CODE] = "cell", [RUN_TERMINAL] = "command" };

/* --- description --------------------------------------------------------------------------------------------------- */

static json_t *limits_encode(const struct limits *l)
{
	json_t *out = json_object();
	fields_put_number(out, "memory", l->memory);
	json_object_set_new(out, "cpus", json_real(limits_cpus(l)));
	fields_put_number(out, "pids", l->pids);
	fields_put_number(out, "tmpfs", l->tmpfs);
	fields_put_number(out, "disk", l->home);
	return out;
}

static int limits_decode(const json_t *json, struct limits *ret, struct fail *f)
{
	struct fields in = { .json = json };
	*ret = (struct limits){ .memory = fields_number(&in, "memory", UINT64_MAX),
				.cpu_quota = (uint64_t)(fields_real(&in, "cpus") * CPU_PERIOD + 0.5),
				.pids = fields_number(&in, "pids", UINT64_MAX),
				.tmpfs = fields_number(&in, "tmpfs", UINT64_MAX),
				.home = fields_number(&in, "disk", UINT64_MAX) };
	return fields_check(&in, f);
}

/* Adds what is stored as the text of a JSON object. */
static void put_object(json_t *out, const char *name, const char *text)
{
	json_t *object = text ? json_loads(text, 0, NULL) : NULL;
	if (object)
		json_object_set_new(out, name, object);
}

json_t *session_rules_encode(const char *rules)
{
	json_t *out = json_array();
	for (const char *p = rules + strspn(rules, " "); *p; p += strspn(p, " ")) {
		/* The mark is for the store. */
		p += *p == '+';
		size_t n = strcspn(p, " ");
		/* The address of an endpoint is the operator's business. */
		json_array_append_new(out, json_stringn(p, strcspn(p, " =")));
		p += n;
	}
	return out;
}

const struct strv *hosts_decode(const json_t *list, struct strv *ret)
{
	for (size_t i = 0; list && i < json_array_size(list); i++)
		strv_add(ret, json_string_value(json_array_get(list, i)));
	return list ? ret : NULL;
}

json_t *session_info_encode(const struct session_info *info)
{
	json_t *out = json_object();
	fields_put_text(out, "id", info->id);
	fields_put_text(out, "name", info->name);
	fields_put_text(out, "language", info->runtime);
	fields_put_text(out, "status", info->status);
	json_object_set_new(out, "age_seconds", json_integer((json_int_t)info->age_seconds));
	json_object_set_new(out, "idle_seconds", json_integer((json_int_t)info->idle_seconds));
	put_object(out, "dependencies", info->dependencies);
	fields_put_text(out, "transport", info->transport);
	put_object(out, "labels", info->labels);
	if (info->rules)
		json_object_set_new(out, "network", session_rules_encode(info->rules));
	json_object_set_new(out, "limits", limits_encode(&info->limits));
	return out;
}

int session_info_decode(const json_t *json, struct session_info *ret, struct fail *f)
{
	struct fields in = { .json = json };
	struct session_info info = { .id = fields_text(&in, "id"),
				     .name = fields_text(&in, "name"),
				     .runtime = fields_text(&in, "language"),
				     .status = fields_text(&in, "status"),
				     .age_seconds = fields_number(&in, "age_seconds", UINT64_MAX),
				     .idle_seconds = fields_number(&in, "idle_seconds", UINT64_MAX),
				     .transport = fields_text(&in, "transport") };
	if (fields_check(&in, f) < 0 || limits_decode(json_object_get(json, "limits"), &info.limits, f) < 0)
		return -1;
	if (!info.id || !info.runtime || !info.status)
		return fail_set(f, FAIL_INVALID, "a session lacks its id, language or status");
	*ret = info;
	return 0;
}

void conversation_encode(json_t *out, const char *conversation)
{
	AUTO(freep) char *tenant = conversation ? tenant_of(conversation) : NULL;
	if (!conversation)
		return;
	fields_put_text(out, "conversation", tenant_inner_id(conversation));
	if (!streq(tenant, TENANT_LOCAL))
		fields_put_text(out, "tenant", tenant);
}

json_t *listed_session_encode(const struct listed_session *s, bool remote)
{
	json_t *out = json_object();
	fields_put_text(out, "id", s->id);
	fields_put_text(out, "name", streq(s->name, "-") ? NULL : s->name);
	fields_put_text(out, "language", s->runtime);
	fields_put_text(out, "status", s->state);
	conversation_encode(out, s->conversation);
	fields_put_text(out, "cause", *s->cause ? s->cause : NULL);
	fields_put_text(out, "transport", streq(s->transport, "-") ? NULL : s->transport);
	json_object_set_new(out, "age_seconds", json_integer((json_int_t)s->age_seconds));
	json_object_set_new(out, "idle_seconds", json_integer((json_int_t)s->idle_seconds));
	json_object_set_new(out, "seconds_left", json_integer((json_int_t)s->left_seconds));
	fields_put_number(out, "idle_seconds_left", s->idle_left_seconds);
	fields_put_bool(out, "network", s->network);
	if (s->rules)
		json_object_set_new(out, "network", session_rules_encode(s->rules));
	if (s->has_memory)
		json_object_set_new(out, "memory", json_integer((json_int_t)s->memory));
	json_object_set_new(out, "limits", limits_encode(&s->limits));
	if (remote)
		return out;
	fields_put_text(out, "owner", s->owner);
	fields_put_text(out, "host", *s->host ? s->host : NULL);
	if (*s->phase) {
		json_t *pod = json_object();
		fields_put_text(pod, "node", *s->node ? s->node : NULL);
		fields_put_text(pod, "phase", s->phase);
		fields_put_text(pod, "reason", *s->reason ? s->reason : NULL);
		json_object_set_new(out, "pod", pod);
	}
	return out;
}

/* --- state --------------------------------------------------------------------------------------------------------- */

static json_t *status_encode(const struct session_status *l)
{
	json_t *out = json_object(), *disks = json_array(), *variables = json_array();
	fields_put_bool(out, "answered", l->answered);
	fields_put_bool(out, "busy", l->busy);
	fields_put_number(out, "memory", l->memory);
	fields_put_number(out, "memory_limit", l->memory_limit);
	fields_put_number(out, "cpu_us", l->cpu_us);
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
		fields_put_text(variable, "shape", *l->variables[i].shape ? l->variables[i].shape : NULL);
		fields_put_number(variable, "bytes", l->variables[i].bytes);
		json_array_append_new(variables, variable);
	}
	json_object_set_new(out, "variables", variables);
	fields_put_number(out, "more_variables", l->more);
	if (l->checkpoints)
		json_object_set_new(out, "checkpoints", checkpoints_encode(l->checkpoints, l->n_checkpoints));
	if (l->branches)
		json_object_set_new(out, "branches", checkpoints_encode(l->branches, l->n_branches));
	fields_put_text(out, "no_checkpoints", l->no_checkpoints);
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
					.more = fields_number(&in, "more_variables", UINT64_MAX) };
	const json_t *disks = fields_list(&in, "disks", STATUS_DISKS_MAX),
		     *variables = fields_list(&in, "variables", LISTED_VARIABLES_MAX);
	if (fields_check(&in, f) < 0 || disks_decode(disks, ret, f) < 0)
		return -1;
	return variables_decode(variables, ret, f);
}

json_t *session_details_encode(const struct session_details *d)
{
	json_t *out = session_info_encode(&d->session), *runs = json_array();
	if (d->left_seconds != UINT64_MAX)
		json_object_set_new(out, "seconds_left", json_integer((json_int_t)d->left_seconds));
	if (d->idle_left_seconds != UINT64_MAX)
		json_object_set_new(out, "idle_seconds_left", json_integer((json_int_t)d->idle_left_seconds));
	for (size_t i = 0; i < d->n_runs; i++) {
		json_t *run = json_object();
		fields_put_number(run, "run", d->runs[i].number);
		fields_put_text(run, "kind", run_kinds[d->runs[i].kind == RUN_TERMINAL]);
		fields_put_text(run, "state", d->runs[i].state);
		fields_put_number(run, "age_ms", d->runs[i].age_ms);
		json_array_append_new(runs, run);
	}
	json_object_set_new(out, "runs", runs);
	if (d->status)
		json_object_set_new(out, "usage", status_encode(d->status));
	return out;
}

static int runs_decode(const json_t *json, struct run_info *v, struct fail *f)
{
	for (size_t i = 0; i < json_array_size(json); i++) {
		struct fields in = { .json = json_array_get(json, i) };
		v[i] = (struct run_info){ .number = fields_number(&in, "run", UINT32_MAX),
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
	struct session_details d = { .left_seconds = fields_number_or_none(&in, "seconds_left"),
				     .idle_left_seconds = fields_number_or_none(&in, "idle_seconds_left") };
	const json_t *runs = fields_list(&in, "runs", RUNS_MAX), *status = fields_object(&in, "usage");
	*ret_status = (struct session_status){ 0 };
	*ret_runs = xcalloc(json_array_size(runs) + 1, sizeof(**ret_runs));
	if (fields_check(&in, f) < 0 || session_info_decode(json, &d.session, f) < 0 ||
	    runs_decode(runs, *ret_runs, f) < 0 || (status && status_decode(status, ret_status, f) < 0))
		return -1;
	d.runs = *ret_runs;
	d.n_runs = json_array_size(runs);
	d.status = ret_status;
	*ret = d;
	return 0;
}

/* --- history ------------------------------------------------------------------------------------------------------- */

json_t *history_session_encode(const struct history *h)
{
	json_t *out = json_object();
	fields_put_text(out, "id", h->id);
	fields_put_text(out, "name", h->name);
	fields_put_text(out, "language", h->runtime);
	fields_put_text(out, "status", h->state);
	conversation_encode(out, h->conversation);
	fields_put_text(out, "cause", h->cause);
	fields_put_number(out, "created_ms", h->created_ms);
	fields_put_number(out, "ended_ms", h->ended_ms);
	return out;
}

/* The log has the names of tools, since a cell or a command may come from any face. */
static const char *kind_of_tool(const char *tool)
{
	static const char *const kinds[][2] = { { "execute_code", "cell" },
						{ "execute_terminal", "command" },
						{ "import_files", "import" },
						{ "export_files", "export" },
						{ "create_session", "create" } };
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (streq(tool, kinds[i][0]))
			return kinds[i][1];
	return tool;
}

json_t *executed_encode(const struct executed *e)
{
	json_t *out = json_object();
	json_object_set_new(out, "run", json_integer((json_int_t)e->seq));
	fields_put_text(out, "kind", kind_of_tool(e->tool));
	fields_put_number(out, "started_ms", e->started_ms);
	fields_put_number(out, "ended_ms", e->ended_ms);
	fields_put_text(out, "ending", e->ending);
	json_object_set_new(out, "in_bytes", json_integer((json_int_t)e->in_bytes));
	json_object_set_new(out, "out_bytes", json_integer((json_int_t)e->out_bytes));
	fields_put_text(out, "env", e->env);
	if (e->ended_ms >= e->started_ms)
		json_object_set_new(out, "duration_ms", json_integer((json_int_t)(e->ended_ms - e->started_ms)));
	return out;
}
