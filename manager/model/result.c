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
		[ENDING_RUNNING] = "running",
		[ENDING_WAITING] = "waiting",
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

void mime_bundle_copy(struct mime_bundle *ret, const struct mime_bundle *b)
{
	*ret = (struct mime_bundle){ .parts = xcalloc(MAX(b->n, (size_t)1), sizeof(*b->parts)), .n = b->n };
	for (size_t i = 0; i < b->n; i++)
		ret->parts[i] = (struct mime_part){ .type = xstrdup(b->parts[i].type),
						    .data = xstrndup(b->parts[i].data, b->parts[i].len),
						    .len = b->parts[i].len };
}

void run_result_add_part(struct run_result *r, struct run_part part)
{
	/* The array doubles when it is full, since there may be tens of thousands of parts. */
	if (!(r->n_parts & (r->n_parts - 1)))
		r->parts = xrealloc(r->parts, MAX(2 * r->n_parts, (size_t)1) * sizeof(*r->parts));
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

static size_t text_weight(const char *s)
{
	return s ? strlen(s) : 0;
}

static size_t bundle_weight(const struct mime_bundle *b)
{
	size_t n = 0;
	for (size_t i = 0; i < b->n; i++)
		n += b->parts[i].len;
	return n;
}

size_t run_result_weight(const struct run_result *r)
{
	const char *const texts[] = { r->stdout_text, r->stderr_text, r->error_message, r->error_traceback };
	size_t n = bundle_weight(&r->result);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		n += text_weight(texts[i]);
	for (size_t i = 0; i < r->n_parts; i++)
		n += sizeof(r->parts[i]) + text_weight(r->parts[i].text);
	for (size_t i = 0; i < r->n_displays; i++)
		n += bundle_weight(&r->displays[i]);
	for (size_t i = 0; i < r->n_earlier; i++)
		n += run_result_weight(&r->earlier[i].result);
	return n;
}

void run_result_release(struct run_result *r)
{
	for (size_t i = 0; i < r->n_parts; i++)
		free(r->parts[i].text);
	free(r->parts);
	free(r->prompt);
	free(r->raw);
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
	free(r->lost);
	restored_free(r->restored);
	for (size_t i = 0; i < r->n_earlier; i++)
		run_result_release(&r->earlier[i].result);
	free(r->earlier);
	*r = (struct run_result){ 0 };
}

static char *joined(char *first, char *second)
{
	if (!first || !second)
		return first ? first : second;
	char *both = xasprintf("%s%s", first, second);
	free(first);
	free(second);
	return both;
}

/* Existing parts come first; the displays of the added parts are renumbered after them. */
static void prepend_parts(struct run_result *all, struct run_result *before)
{
	for (size_t i = 0; i < all->n_parts; i++)
		run_result_add_part(before, (struct run_part){ .kind = all->parts[i].kind,
							       .text = all->parts[i].text,
							       .display = all->parts[i].display + before->n_displays,
							       .bytes = all->parts[i].bytes });
	free(all->parts);
	all->parts = take_ptr(before->parts);
	all->n_parts = before->n_parts;
	before->n_parts = 0;
}

static void prepend_displays(struct run_result *all, struct run_result *before)
{
	size_t n = before->n_displays + all->n_displays;
	before->displays = xrealloc(before->displays, (n + 1) * sizeof(*before->displays));
	for (size_t i = 0; i < all->n_displays; i++)
		before->displays[before->n_displays + i] = all->displays[i];
	free(all->displays);
	all->displays = take_ptr(before->displays);
	all->n_displays = n;
	before->n_displays = 0;
}

static void prepend_raw(struct run_result *all, struct run_result *before)
{
	if (!before->raw)
		return;
	before->raw = xrealloc(before->raw, before->raw_len + all->raw_len + 1);
	memcpy(before->raw + before->raw_len, all->raw ? all->raw : "", all->raw_len);
	free(all->raw);
	all->raw_len += before->raw_len;
	all->raw = take_ptr(before->raw);
}

void run_result_append(struct run_result *r, struct run_result *more)
{
	struct run_result all = *more;
	*more = (struct run_result){ 0 };
	prepend_parts(&all, r);
	prepend_displays(&all, r);
	all.stdout_text = joined(take_ptr(r->stdout_text), all.stdout_text);
	all.stderr_text = joined(take_ptr(r->stderr_text), all.stderr_text);
	prepend_raw(&all, r);
	all.stdout_bytes += r->stdout_bytes;
	all.stderr_bytes += r->stderr_bytes;
	all.stdout_truncated |= r->stdout_truncated;
	all.stderr_truncated |= r->stderr_truncated;
	all.displays_dropped += r->displays_dropped;
	/* A run has at most one result and one error. */
	if (!all.result.n) {
		all.result = r->result;
		r->result = (struct mime_bundle){ 0 };
	}
	if (!all.error_type) {
		all.error_type = take_ptr(r->error_type);
		all.error_message = take_ptr(r->error_message);
		all.error_traceback = take_ptr(r->error_traceback);
	}
	run_result_release(r);
	*r = all;
}

void run_result_name_timeout(struct run_result *r, uint64_t timeout_seconds)
{
	unsigned long long s = timeout_seconds;
	if (r->ending != ENDING_TIMEOUT || !s)
		return;
	if (!r->detail)
		r->detail = xasprintf("stopped after %llu s", s);
	/* Husk sent this interrupt; it is not an error of the code. */
	if (!r->error_type || streq(r->error_type, "KeyboardInterrupt")) {
		free(r->error_type);
		free(r->error_message);
		r->error_type = xstrdup("TimeoutError");
		r->error_message = xasprintf("Execution timed out after %llus", s);
	}
}
