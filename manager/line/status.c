#include "manager/line/status.h"

#include <jansson.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/utf8.h"
#include "manager/line/checkpoints.h"

#define LIMIT_MS 3000
#define TEXT_CHARS 120
/* All waiters share one number, so one answer serves all of them. */
#define CALL 1

void status_stop(struct status_waiter *w)
{
	if (!w->dispatch)
		return;
	list_remove(&w->node);
	w->limit = timer_free(w->limit);
	w->dispatch = NULL;
}

static void on_limit(void *ctx)
{
	struct status_waiter *w = ctx;
	status_stop(w);
	w->on_status(w, &(struct session_status){ 0 });
}

void status_lost(struct dispatch *d)
{
	/* A callback may start another request, which waits for an answer of its own. */
	for (size_t left = list_length(&d->status_waiters); left > 0; left--) {
		struct status_waiter *w = list_first(&d->status_waiters, struct status_waiter, node);
		if (!w)
			break;
		status_stop(w);
		w->on_status(w, &(struct session_status){ 0 });
	}
}

void status_release(struct dispatch *d)
{
	list_for_each(w, &d->status_waiters, struct status_waiter, node)
		status_stop(w);
}

void status_start(struct status_waiter *w, struct dispatch *d)
{
	w->dispatch = d;
	list_append(&d->status_waiters, &w->node);
	w->limit = timer_new(d->loop, on_limit, w);
	bool sent = d->open;
	timer_start(w->limit, sent ? LIMIT_MS : 0, 0);
	if (sent)
		dispatch_send_frame(d, FRAME_STATUS, CALL);
}

/* --- the answer -------------------------------------------------------------------------------------------------- */

static char *text_of(const json_t *object, const char *name)
{
	struct buf clean = { 0 };
	const char *s = json_string_value(json_object_get(object, name));
	if (s)
		utf8_clean(&clean, s, utf8_head(s, strlen(s), TEXT_CHARS));
	/* Cleaning replaces hidden characters with longer text, so cut again. */
	clean.len = utf8_head(buf_str(&clean), clean.len, TEXT_CHARS);
	return buf_steal_str(&clean);
}

static uint64_t count_of(const json_t *object, const char *name)
{
	json_int_t n = json_integer_value(json_object_get(object, name));
	return n > 0 ? (uint64_t)n : 0;
}

static void read_variables(struct session_status *status, const json_t *list)
{
	size_t n = MIN(json_array_size(list), (size_t)VARIABLES_MAX);
	status->has_variables = json_is_array(list);
	status->variables = xcalloc(n + 1, sizeof(*status->variables));
	for (size_t i = 0; i < n; i++) {
		const json_t *v = json_array_get(list, i);
		status->variables[status->n_variables++] = (struct variable){ .name = text_of(v, "name"),
									      .type = text_of(v, "type"),
									      .shape = text_of(v, "shape"),
									      .bytes = count_of(v, "bytes") };
	}
}

static void read_disks(struct session_status *status, const json_t *list)
{
	for (size_t i = 0; i < MIN(json_array_size(list), (size_t)STATUS_DISKS_MAX); i++) {
		const json_t *d = json_array_get(list, i);
		status->disks[status->n_disks].path = text_of(d, "path");
		status->disks[status->n_disks].used = count_of(d, "used");
		status->disks[status->n_disks++].size = count_of(d, "size");
	}
}

int status_frame(struct dispatch *d, const struct wire_frame *frame)
{
	json_auto_t *info = json_parse(frame->payload, frame->n, JSON_REJECT_DUPLICATES);
	const char *kernel = json_string_value(json_object_get(info, "kernel"));
	const json_t *landlock = json_object_get(info, "landlock");
	AUTO(session_status_release) struct session_status status = {
		.answered = true,
		.busy = kernel && streq(kernel, "busy"),
		.memory = count_of(info, "memory"),
		.memory_limit = count_of(info, "memory_limit"),
		.cpu_us = count_of(info, "cpu_us"),
		.ptys = count_of(info, "ptys"),
		.no_landlock = json_is_integer(landlock) && json_integer_value(landlock) <= 0,
		.fresh = json_is_true(json_object_get(info, "fresh")),
		.more = count_of(info, "more")
	};
	if (!json_is_object(info))
		return -1;
	read_disks(&status, json_object_get(info, "disks"));
	read_variables(&status, json_object_get(info, "variables"));
	status.checkpoints = checkpoints_read_list(json_object_get(info, "checkpoints"), &status.n_checkpoints);
	status.branches = checkpoints_read_list(json_object_get(info, "branches"), &status.n_branches);
	if (json_object_get(info, "no_checkpoints"))
		status.no_checkpoints = text_of(info, "no_checkpoints");
	/* A callback may start another request, which waits for an answer of its own. */
	for (size_t left = list_length(&d->status_waiters); left > 0; left--) {
		struct status_waiter *w = list_first(&d->status_waiters, struct status_waiter, node);
		if (!w)
			break;
		status_stop(w);
		w->on_status(w, &status);
	}
	return 0;
}
