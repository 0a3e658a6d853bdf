#include "manager/model/result.h"

#include "base/alloc.h"

const char *ending_name(enum ending ending)
{
	static const char *const names[] = {
		[ENDING_OK] = "ok",
		[ENDING_ERROR] = "error",
		[ENDING_TIMEOUT] = "timeout",
		[ENDING_INTERRUPTED] = "interrupted",
		[ENDING_OOM] = "oom",
		[ENDING_KERNEL_DIED] = "kernel_died",
		[ENDING_CONTAINER_DIED] = "container_died",
		[ENDING_SESSION_LOST] = "session_lost",
	};
	return names[ending];
}

void mime_bundle_release(struct mime_bundle *b)
{
	for (size_t i = 0; i < b->n; i++) {
		free(b->parts[i].type);
		free(b->parts[i].data);
	}
	free(b->parts);
	*b = (struct mime_bundle){ 0 };
}

void run_result_add_part(struct run_result *r, struct run_part part)
{
	r->parts = xrealloc(r->parts, (r->n_parts + 1) * sizeof(*r->parts));
	r->parts[r->n_parts++] = part;
}

void run_result_add_text(struct run_result *r, enum part_kind stream, char *text)
{
	struct run_part *last = r->n_parts ? &r->parts[r->n_parts - 1] : NULL;
	if (!*text) {
		free(text);
	} else if (last && last->kind == stream) {
		char *both = xasprintf("%s%s", last->text, text);
		free(text);
		free(last->text);
		last->text = both;
	} else {
		run_result_add_part(r, (struct run_part){ .kind = stream, .text = text });
	}
}

void run_result_release(struct run_result *r)
{
	for (size_t i = 0; i < r->n_parts; i++)
		free(r->parts[i].text);
	free(r->parts);
	free(r->detail);
	free(r->stdout_text);
	free(r->stderr_text);
	mime_bundle_release(&r->result);
	free(r->error_type);
	free(r->error_message);
	free(r->error_traceback);
	for (size_t i = 0; i < r->n_displays; i++)
		mime_bundle_release(&r->displays[i]);
	free(r->displays);
	free(r->notice);
	for (size_t i = 0; i < r->n_earlier; i++)
		run_result_release(&r->earlier[i].result);
	free(r->earlier);
	*r = (struct run_result){ 0 };
}
