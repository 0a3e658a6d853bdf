#include "manager/line/looks.h"

#include <jansson.h>

#include "base/alloc.h"
#include "base/utf8.h"

#define LIMIT_MS 3000
/* Protocol version: an older PID 1 does not know LOOK. */
#define VERSION_OF_LOOKS 3
#define TEXT_CHARS 120
/* All lookers share one number, so one answer serves all of them. */
#define CALL 1

void look_stop(struct looker *l)
{
	if (!l->dispatch)
		return;
	list_remove(&l->node);
	l->limit = timer_free(l->limit);
	l->dispatch = NULL;
}

static void on_limit(void *ctx)
{
	struct looker *l = ctx;
	look_stop(l);
	l->on_look(l, &(struct look){ 0 });
}

void looks_lost(struct dispatch *d)
{
	/* A callback may start another look. It is not in this round. */
	for (size_t left = list_length(&d->looks); left > 0; left--) {
		struct looker *l = list_first(&d->looks, struct looker, node);
		if (!l)
			break;
		look_stop(l);
		l->on_look(l, &(struct look){ 0 });
	}
}

void looks_release(struct dispatch *d)
{
	list_for_each(l, &d->looks, struct looker, node)
		look_stop(l);
}

void look_start(struct looker *l, struct dispatch *d)
{
	l->dispatch = d;
	list_append(&d->looks, &l->node);
	l->limit = timer_new(d->loop, on_limit, l);
	bool asked = d->open && d->version >= VERSION_OF_LOOKS;
	timer_start(l->limit, asked ? LIMIT_MS : 0, 0);
	if (asked)
		dispatch_send_frame(d, FRAME_LOOK, CALL);
}

/* --- what PID 1 says --------------------------------------------------------------------------------------------- */

static char *text_of(const json_t *object, const char *name)
{
	struct buf clean = { 0 };
	const char *s = json_string_value(json_object_get(object, name));
	if (s)
		utf8_clean(&clean, s, utf8_head(s, strlen(s), TEXT_CHARS));
	/* Cleaning replaces hidden characters by longer text. */
	clean.len = utf8_head(buf_str(&clean), clean.len, TEXT_CHARS);
	return buf_steal_str(&clean);
}

static uint64_t count_of(const json_t *object, const char *name)
{
	json_int_t n = json_integer_value(json_object_get(object, name));
	return n > 0 ? (uint64_t)n : 0;
}

static void read_variables(struct look *look, const json_t *list)
{
	size_t n = MIN(json_array_size(list), (size_t)VARIABLES_MAX);
	look->has_variables = json_is_array(list);
	look->variables = xcalloc(n + 1, sizeof(*look->variables));
	for (size_t i = 0; i < n; i++) {
		const json_t *v = json_array_get(list, i);
		look->variables[look->n_variables++] = (struct variable){ .name = text_of(v, "name"),
									  .type = text_of(v, "type"),
									  .shape = text_of(v, "shape"),
									  .bytes = count_of(v, "bytes") };
	}
}

static void read_disks(struct look *look, const json_t *list)
{
	for (size_t i = 0; i < MIN(json_array_size(list), (size_t)LOOK_DISKS_MAX); i++) {
		const json_t *d = json_array_get(list, i);
		look->disks[look->n_disks].path = text_of(d, "path");
		look->disks[look->n_disks].used = count_of(d, "used");
		look->disks[look->n_disks++].size = count_of(d, "size");
	}
}

int looks_frame(struct dispatch *d, const struct wire_frame *frame)
{
	json_auto_t *info = json_loadb((const char *)frame->payload, frame->n, JSON_REJECT_DUPLICATES, NULL);
	const char *kernel = json_string_value(json_object_get(info, "kernel"));
	const json_t *landlock = json_object_get(info, "landlock");
	AUTO(look_release) struct look look = { .answered = true,
						.busy = kernel && streq(kernel, "busy"),
						.memory = count_of(info, "memory"),
						.memory_limit = count_of(info, "memory_limit"),
						.ptys = count_of(info, "ptys"),
						.no_landlock =
							json_is_integer(landlock) && json_integer_value(landlock) <= 0,
						.fresh = json_is_true(json_object_get(info, "fresh")),
						.more = count_of(info, "more") };
	if (!json_is_object(info))
		return -1;
	read_disks(&look, json_object_get(info, "disks"));
	read_variables(&look, json_object_get(info, "variables"));
	/* A callback may start another look. It is not in this round. */
	for (size_t left = list_length(&d->looks); left > 0; left--) {
		struct looker *l = list_first(&d->looks, struct looker, node);
		if (!l)
			break;
		look_stop(l);
		l->on_look(l, &look);
	}
	return 0;
}
