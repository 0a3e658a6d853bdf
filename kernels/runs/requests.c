#include "kernels/runs/requests.h"

#include <errno.h>
#include <limits.h>

#include "base/alloc.h"
#include "base/json.h"
#include "kernels/checkpoint-name.h"
#include "kernels/host-name.h"
#include "kernels/system/frames.h"

#define DEFAULT_TIMEOUT_MS 30000
#define DEFAULT_OUTPUT_LIMIT (1u << 20)

static size_t limit_of(const json_t *payload, const char *name)
{
	const json_t *value = json_object_get(payload, name);
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return DEFAULT_OUTPUT_LIMIT;
	return (size_t)MIN(json_integer_value(value), (json_int_t)2 * OUTPUT_LIMIT_MAX);
}

static const char *take_text(struct run *c, const json_t *text)
{
	if (!json_is_string(text))
		return "The frame has no text to run.";
	size_t n = json_string_length(text);
	if (n > CODE_BYTES_MAX)
		return "The text to run is longer than 8 MiB.";
	if (strlen(json_string_value(text)) != n)
		return "The text to run contains a NUL character.";
	c->text = xstrndup(json_string_value(text), n);
	c->text_len = n;
	return NULL;
}

static const char *take_direct(struct run *c, const json_t *direct)
{
	size_t i;
	json_t *name;
	if (json_array_size(direct) > INSTALL_DIRECT_MAX)
		return "The frame names too many hosts.";
	json_array_foreach(direct, i, name) {
		const char *text = json_string_value(name);
		if (!text || !host_name_valid(text, json_string_length(name)))
			return "The frame names an invalid host.";
		strv_add(&c->direct, text);
	}
	return NULL;
}

static const char *take_env(struct run *c, json_t *env)
{
	size_t total = 0;
	const char *name;
	json_t *value;
	json_object_foreach(env, name, value) {
		if (!json_is_string(value) || !*name || strchr(name, '=') ||
		    strlen(json_string_value(value)) != json_string_length(value))
			return "The frame's environment is not an object of texts.";
		total += strlen(name) + 1 + json_string_length(value) + 1;
		if (total > CLAIM_ENV_MAX)
			return "The run's environment is larger than 64 KiB.";
		strv_addf(&c->env, "%s=%s", name, json_string_value(value));
	}
	return NULL;
}

static const char *take_cwd(struct run *c, const json_t *cwd)
{
	if (!cwd)
		return NULL;
	if (!json_is_string(cwd) || !json_string_length(cwd) || json_string_length(cwd) >= PATH_MAX ||
	    strlen(json_string_value(cwd)) != json_string_length(cwd))
		return "The frame has no valid directory.";
	c->cwd = xstrdup(json_string_value(cwd));
	return NULL;
}

static const char *take_branch(struct run *c, const json_t *branch)
{
	const char *name = json_string_value(branch);
	if (!branch || c->kind != RUN_EXECUTE)
		return NULL;
	if (!name || !checkpoint_name_valid(name))
		return "The name of the branch is not valid. " CHECKPOINT_NAME_RULE;
	c->branch = xstrdup(name);
	return NULL;
}

/* Size of a terminal, clamped to the valid range. */
static uint16_t size_of(const json_t *value, json_int_t standard, json_int_t max)
{
	json_int_t n = json_is_integer(value) ? json_integer_value(value) : standard;
	return (uint16_t)MAX(1, MIN(n, max));
}

static void take_interactive(struct run *c, const json_t *payload)
{
	c->interactive = c->kind != RUN_INSTALL && json_is_true(json_object_get(payload, "interactive"));
	c->rows = size_of(json_object_get(payload, "rows"), TERMINAL_ROWS, TERMINAL_ROWS_MAX);
	c->cols = size_of(json_object_get(payload, "cols"), TERMINAL_COLS, TERMINAL_COLS_MAX);
}

/* For the manager that takes the session over; PID 1 itself does not use them. */
static void take_origin(struct run *c, const json_t *payload)
{
	const json_t *by = json_object_get(payload, "by");
	const char *text = json_string_value(by);
	if (text && json_string_length(by) <= RUN_BY_MAX && strlen(text) == json_string_length(by))
		c->by = xstrdup(text);
	c->detached = json_is_true(json_object_get(payload, "detached"));
}

static const char *take_install(struct run *c, const json_t *payload)
{
	json_t *packages = json_object_get(payload, "packages");
	json_int_t size = json_integer_value(json_object_get(payload, "size_limit"));
	if (!json_is_object(packages))
		return "The frame has no packages to install.";
	c->size_limit = size > 0 ? (uint64_t)size : 0;
	AUTO(buf_release) struct buf text = { 0 };
	json_print(&text, packages);
	if (text.len > CODE_BYTES_MAX)
		return "Too many packages.";
	c->text_len = text.len;
	c->text = buf_steal_str(&text);
	/* An older server would send the installer to ports of its own. */
	if (json_array_size(json_object_get(payload, "relays")))
		return "This image belongs to a newer Husk, which reaches package indexes with a login in another way.";
	return take_direct(c, json_object_get(payload, "direct"));
}

/* NULL, or why the run is rejected. */
static const char *take_fields(struct run *c, const json_t *payload)
{
	const json_t *timeout = json_object_get(payload, "timeout_ms");

	capture_init(&c->streams[RUN_STDOUT], limit_of(payload, "stdout_limit"));
	capture_init(&c->streams[RUN_STDERR], limit_of(payload, "stderr_limit"));
	run_size_tail(c);
	json_int_t keep_over = json_integer_value(json_object_get(payload, "keep_over"));
	c->keep_over = c->kind != RUN_INSTALL && keep_over > 0 ? (uint64_t)keep_over : 0;
	c->timeout_ms = DEFAULT_TIMEOUT_MS;
	if (json_is_integer(timeout) && json_integer_value(timeout) > 0)
		c->timeout_ms = (uint64_t)json_integer_value(timeout);
	const char *why = take_env(c, json_object_get(payload, "env"));
	take_interactive(c, payload);
	take_origin(c, payload);
	c->restart = c->first = c->kind == RUN_EXECUTE && json_is_true(json_object_get(payload, "restart"));
	if (!why)
		why = take_branch(c, json_object_get(payload, "branch"));
	if (!why && c->branch && c->restart)
		why = "A branch cannot be restarted: drop it and make another one.";
	if (!why && c->kind == RUN_TERMINAL)
		why = take_cwd(c, json_object_get(payload, "cwd"));
	if (why)
		return why;
	if (c->kind == RUN_INSTALL)
		return take_install(c, payload);
	return take_text(c, json_object_get(payload, c->kind == RUN_EXECUTE ? "code" : "command"));
}

static size_t queued_bytes(const struct runs *runs)
{
	size_t sum = 0;
	list_for_each(c, &runs->list, struct run, node)
		sum += c->text ? c->text_len : 0;
	return sum;
}

int runs_add(struct runs *runs, uint32_t number, enum run_kind kind, const void *payload, size_t n, struct run **ret)
{
	if (number == 0)
		return -EPROTO;
	if (number <= runs->last_number)
		return 1;
	json_auto_t *fields = json_parse(payload, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL);
	if (!json_is_object(fields))
		return -EPROTO;
	runs->last_number = number;
	if (runs->count >= CALLS_MAX || queued_bytes(runs) + n > QUEUE_BYTES_MAX)
		return -EBUSY;

	struct run *c = new0(struct run);
	c->runs = runs;
	c->number = number;
	c->kind = kind;
	c->keep.fd = -1;
	list_append(&runs->list, &c->node);
	runs->count++;
	const char *why = take_fields(c, fields);
	if (why)
		run_end(c, &(struct run_ending){ .ending = "refused", .detail = why });
	*ret = c;
	return 0;
}

int runs_input(struct runs *runs, uint32_t call, const void *payload, size_t n, struct run_input *ret)
{
	json_auto_t *fields = json_parse(payload, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL);
	const json_t *text = json_object_get(fields, "text");
	json_int_t number = json_integer_value(json_object_get(fields, "number"));
	struct run *run = runs_find(runs, call);
	if (!json_is_string(text) || json_string_length(text) > INPUT_BYTES_MAX || number < 1 || number > UINT32_MAX)
		return -EPROTO;
	if (!run || run->state == RUN_ENDED || !run->interactive || number <= run->prompt.taken)
		return 1;
	run->prompt.taken = (uint32_t)number;
	*ret = (struct run_input){ .run = run,
				   .fields = json_incref(fields),
				   .text = json_string_value(text),
				   .len = json_string_length(text) };
	return 0;
}
