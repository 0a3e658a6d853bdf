#include "manager/line/collect.h"

#include <errno.h>
#include <jansson.h>

#include "base/alloc.h"
#include "base/deadline.h"
#include "base/json.h"
#include "manager/line/checkpoints.h"
#include "manager/line/parsed.h"
#include "manager/line/run-output.h"

/* Limit for the displays of one run, including those that were dropped to make room for later ones. */
#define PLACES_MAX (10 * CALL_DISPLAYS_MAX)
#define DETAIL_CHARS 3000
#define LOST_CHARS 100
#define BYTES_PER_CHAR 4
/* Output of at most LOOP_STREAM_BYTES is rendered on the loop. Longer output is rendered by a worker job. If no
 * worker job can do it, the output is first cut to CUT_STREAM_BYTES. */
#define LOOP_STREAM_BYTES (64u << 10)
#define CUT_STREAM_BYTES (256u << 10)
/* CPU limit of a worker job for one frame. */
#define PREPARE_CPU_MS 1000

struct collect {
	const struct config *config;
	struct run_output live, tail;
	struct run_result partial; /* displays, result and error; the texts are added at the end */
	struct shown {		   /* parallel to partial.displays */
		char *id;	   /* NULL = no id */
		size_t bytes;
		bool update; /* updates a display that this run did not show */
		bool gone;   /* its first content was dropped */
	} * shown;
	size_t display_bytes;
	size_t emptied;		/* entries of partial.displays whose content was dropped */
	uint64_t displays_over; /* dropped here, not by PID 1 */
	json_t *end;
	uint32_t call;
	bool raw;
	struct prepared *prepared; /* for the next frame; NULL = none */
	struct last_display {	   /* effect of the last DISPLAY */
		bool cleared, update;
		size_t at; /* SIZE_MAX = no display */
	} last;
};

static uint64_t byte_limit(uint64_t chars)
{
	uint64_t bytes = chars ? chars * BYTES_PER_CHAR : OUTPUT_LIMIT_MAX;
	return MIN(bytes, OUTPUT_LIMIT_MAX);
}

uint64_t collect_stdout_limit(const struct config *config)
{
	return byte_limit(config->max_stdout_chars);
}

uint64_t collect_stderr_limit(const struct config *config)
{
	return byte_limit(config->max_stderr_chars);
}

uint64_t collect_keep_over(const struct config *config)
{
	const uint64_t limits[] = { config->max_stdout_chars, config->max_stderr_chars, config->max_result_chars,
				    config->max_traceback_chars };
	/* Labels and notes need part of the answer. */
	uint64_t chars = config->max_answer_chars / 4 * 3;
	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		if (limits[i])
			chars = MIN(chars, limits[i]);
	return chars;
}

struct collect *collect_new(const struct config *config)
{
	struct collect *c = new0(struct collect);
	c->config = config;
	c->last.at = SIZE_MAX;
	parsed_init();
	return c;
}

/* --- work off the loop ------------------------------------------------------------------------------------------- */

struct prepared {
	struct config limits; /* a copy, of which only the numbers are read */
	bool ends;	      /* true: `texts` is the result; false: `parsed` */
	struct parsed parsed;
	struct run_output live, tail;
	struct stream_limit streams[2];
	struct run_result texts; /* filled by run_output_finish() */
};

struct prepared *prepared_free(struct prepared *p)
{
	if (!p)
		return NULL;
	parsed_release(&p->parsed);
	run_output_release(&p->live);
	run_output_release(&p->tail);
	run_result_release(&p->texts);
	free(p);
	return NULL;
}

static void prepared_freep(struct prepared **p)
{
	prepared_free(*p);
}

static size_t stream_bytes(const struct collect *c)
{
	return c->live.bytes[0] + c->live.bytes[1] + c->tail.bytes[0] + c->tail.bytes[1];
}

static uint64_t number_field(json_t *object, const char *name)
{
	json_int_t value = json_integer_value(json_object_get(object, name));
	return value > 0 ? (uint64_t)value : 0;
}

/* The limits for each stream. out_bytes and err_bytes are the bytes that the program wrote, or 0 if unknown. */
static void get_limits(const struct collect *c, uint64_t out_bytes, uint64_t err_bytes, struct stream_limit ret[2])
{
	uint64_t bytes[] = { MAX(out_bytes, c->live.bytes[0] + c->tail.bytes[0]),
			     MAX(err_bytes, c->live.bytes[1] + c->tail.bytes[1]) };
	ret[0] = (struct stream_limit){ c->raw ? 0 : bytes[0], c->config->max_stdout_chars };
	ret[1] = (struct stream_limit){ bytes[1], c->config->max_stderr_chars };
}

struct prepared *collect_prepare(const struct collect *c, const struct wire_frame *frame)
{
	bool ends = frame->type == FRAME_END || frame->type == FRAME_MARK;
	bool parses = frame->type == FRAME_DISPLAY || frame->type == FRAME_RESULT || frame->type == FRAME_ERROR;
	if (!(ends && !c->raw && stream_bytes(c) > LOOP_STREAM_BYTES) && !(parses && !parsed_is_light(frame)))
		return NULL;
	struct prepared *p = new0(struct prepared);
	p->limits = *c->config;
	p->ends = ends;
	if (!ends)
		return p;
	json_auto_t *end = json_parse(frame->payload, frame->n, JSON_REJECT_DUPLICATES);
	get_limits(c, number_field(end, "stdout_bytes"), number_field(end, "stderr_bytes"), p->streams);
	run_output_copy(&p->live, &c->live);
	run_output_copy(&p->tail, &c->tail);
	return p;
}

void prepared_work(struct prepared *p, const struct wire_frame *frame)
{
	deadline_set(PREPARE_CPU_MS);
	if (p->ends)
		run_output_finish(&p->live, &p->tail, p->streams, &p->texts);
	else
		parsed_read(&p->parsed, frame, &p->limits);
	deadline_set(0);
}

void collect_take_prepared(struct collect *c, struct prepared *p)
{
	prepared_free(c->prepared);
	c->prepared = p;
}

/* Discards everything collected so far. */
static void clear(struct collect *c)
{
	for (size_t i = 0; i < c->partial.n_displays; i++)
		free(c->shown[i].id);
	free(c->shown);
	run_result_release(&c->partial);
	run_output_release(&c->live);
	run_output_release(&c->tail);
	json_decref(c->end);
	prepared_free(c->prepared);
	*c = (struct collect){ .config = c->config, .raw = c->raw, .last = { .at = SIZE_MAX } };
}

void collect_set_raw(struct collect *c)
{
	c->raw = true;
}

struct collect *collect_free(struct collect *c)
{
	if (c) {
		clear(c);
		free(c);
	}
	return NULL;
}

/* --- texts ------------------------------------------------------------------------------------------------------- */

static char *string_field(json_t *object, const char *name, uint64_t max_chars)
{
	json_t *value = json_object_get(object, name);
	if (!json_is_string(value))
		return NULL;
	return parsed_text(json_string_value(value), json_string_length(value), max_chars);
}

/* --- MIME bundles ------------------------------------------------------------------------------------------------ */

static size_t find_display(const struct collect *c, const char *id)
{
	for (size_t i = 0; i < c->partial.n_displays; i++)
		if (c->shown[i].id && streq(c->shown[i].id, id))
			return i;
	return SIZE_MAX;
}

static size_t new_display(struct collect *c, const char *id, bool update)
{
	struct run_result *r = &c->partial;
	size_t at = r->n_displays++;
	r->displays = xrealloc(r->displays, r->n_displays * sizeof(*r->displays));
	c->shown = xrealloc(c->shown, r->n_displays * sizeof(*c->shown));
	c->shown[at] = (struct shown){ .id = id ? xstrdup(id) : NULL, .update = id && update };
	r->displays[at] = (struct mime_bundle){ 0 };
	run_output_add_display(&c->live, at, update);
	return at;
}

static bool is_picture_type(const char *type)
{
	return strncmp(type, "image/", 6) == 0 && !streq(type, "image/svg+xml");
}

/* Drops the oldest picture and leaves its place empty, so the latest ones are kept. */
static bool drop_picture(struct collect *c)
{
	for (size_t i = 0; i < c->partial.n_displays; i++) {
		struct mime_bundle *b = &c->partial.displays[i];
		for (size_t k = 0; k < b->n; k++) {
			if (!is_picture_type(b->parts[k].type))
				continue;
			mime_bundle_release(b);
			*b = (struct mime_bundle){ 0 };
			c->display_bytes -= c->shown[i].bytes;
			c->shown[i].bytes = 0;
			c->shown[i].gone = true;
			c->emptied++;
			return true;
		}
	}
	return false;
}

static bool has_room(const struct collect *c, size_t at, size_t bytes)
{
	size_t before = at == SIZE_MAX ? 0 : c->shown[at].bytes, n = c->partial.n_displays;
	return c->display_bytes - before + bytes <= CALL_DISPLAY_BYTES_MAX &&
	       (at != SIZE_MAX || (n - c->emptied < CALL_DISPLAYS_MAX && n < PLACES_MAX));
}

static bool make_room(struct collect *c, bool picture, size_t at, size_t bytes)
{
	while (!has_room(c, at, bytes)) {
		c->displays_over++;
		if (!picture || !drop_picture(c))
			return false;
	}
	return true;
}

static void add_display(struct collect *c, struct parsed *p, size_t bytes)
{
	size_t at = p->update ? find_display(c, p->id) : SIZE_MAX;
	if (p->clear) {
		clear(c);
		c->last.cleared = true;
		return;
	}
	c->last = (struct last_display){ .at = SIZE_MAX, .update = p->update };
	if (!make_room(c, p->picture, at, bytes))
		return;
	if (at == SIZE_MAX)
		at = new_display(c, p->id, p->update);
	c->display_bytes += bytes - c->shown[at].bytes;
	c->shown[at].bytes = bytes;
	mime_bundle_release(&c->partial.displays[at]);
	c->partial.displays[at] = p->bundle;
	p->bundle = (struct mime_bundle){ 0 };
	c->last.at = at;
}

bool collect_shown(const struct collect *c, struct shown_display *ret)
{
	const struct last_display *last = &c->last;
	bool shows = last->at < c->partial.n_displays;
	if (!last->cleared && !shows)
		return false;
	*ret = (struct shown_display){ .clear = last->cleared };
	if (shows)
		*ret = (struct shown_display){ .bundle = &c->partial.displays[last->at],
					       .id = c->shown[last->at].id,
					       .update = last->update };
	return true;
}

size_t collect_displays(const struct collect *c)
{
	size_t n = 0;
	for (size_t i = 0; i < c->partial.n_displays; i++)
		n += !c->shown[i].update && !c->shown[i].gone;
	return n;
}

const struct run_result *collect_partial(const struct collect *c)
{
	return &c->partial;
}

void collect_show(const struct collect *c, const struct collect_viewer *v)
{
	for (size_t i = 0; i < c->live.n; i++) {
		const struct piece *piece = &c->live.v[i];
		if (piece->kind == PART_STDOUT || piece->kind == PART_STDERR)
			v->on_output(v->ctx, piece->kind == PART_STDOUT ? 1 : 2, piece->bytes.data, piece->bytes.len);
		else if (piece->kind == PART_DISPLAY)
			v->on_display(v->ctx, &(struct shown_display){ .bundle = &c->partial.displays[piece->display],
								       .id = c->shown[piece->display].id });
	}
}

/* --- frames ------------------------------------------------------------------------------------------------------ */

static int on_parsed(struct collect *c, const struct wire_frame *frame, struct parsed *p)
{
	struct run_result *r = &c->partial;
	if (!p->valid)
		return -EPROTO;
	switch (frame->type) {
	case FRAME_DISPLAY:
		add_display(c, p, frame->n);
		break;
	case FRAME_RESULT:
		if (!r->result.n)
			run_output_add(&c->live, PART_RESULT, NULL, 0);
		mime_bundle_release(&r->result);
		r->result = p->bundle;
		p->bundle = (struct mime_bundle){ 0 };
		break;
	default:
		if (!r->error_type)
			run_output_add(&c->live, PART_ERROR, NULL, 0);
		free(r->error_type);
		free(r->error_message);
		free(r->error_traceback);
		r->error_type = take_ptr(p->error_type);
		r->error_message = take_ptr(p->error_message);
		r->error_traceback = take_ptr(p->error_traceback);
		break;
	}
	return 0;
}

static int on_json_frame(struct collect *c, const struct wire_frame *frame)
{
	AUTO(prepared_freep) struct prepared *prepared = take_ptr(c->prepared);
	AUTO(parsed_release) struct parsed parsed = { 0 };
	if (prepared)
		return on_parsed(c, frame, &prepared->parsed);
	parsed_read(&parsed, frame, c->config);
	return on_parsed(c, frame, &parsed);
}

static json_t *load_end(const struct wire_frame *frame)
{
	json_t *end = json_parse(frame->payload, frame->n, JSON_REJECT_DUPLICATES);
	if (json_is_object(end))
		return end;
	json_decref(end);
	return NULL;
}

/* PID 1 shares one ring between the streams, so one stream may fill all of it. */
static int on_output(struct run_output *p, enum part_kind stream, const struct wire_frame *frame, uint64_t limit)
{
	if (frame->n > limit - p->bytes[stream])
		return -EPROTO;
	run_output_add(p, stream, frame->payload, frame->n);
	return 0;
}

/* An empty frame marks where a piece of the live output, which was sent before, belongs in the tail. */
static int on_tail(struct collect *c, enum part_kind stream, const struct wire_frame *frame)
{
	if (frame->n)
		return on_output(&c->tail, stream, frame,
				 collect_stdout_limit(c->config) + collect_stderr_limit(c->config));
	run_output_add(&c->tail, PART_GAP, NULL, 0);
	return 0;
}

int collect_frame(struct collect *c, const struct wire_frame *frame)
{
	if (c->end)
		return -EPROTO;
	c->call = frame->call;
	switch (frame->type) {
	case FRAME_OUT:
		return on_output(&c->live, PART_STDOUT, frame, collect_stdout_limit(c->config));
	case FRAME_ERR:
		return on_output(&c->live, PART_STDERR, frame, collect_stderr_limit(c->config));
	case FRAME_OUT_TAIL:
		return on_tail(c, PART_STDOUT, frame);
	case FRAME_ERR_TAIL:
		return on_tail(c, PART_STDERR, frame);
	case FRAME_CALL:
		clear(c);
		return 0;
	case FRAME_PROGRESS:
		return 0;
	case FRAME_DISPLAY:
	case FRAME_RESULT:
	case FRAME_ERROR:
		return on_json_frame(c, frame);
	case FRAME_END:
		c->end = load_end(frame);
		return c->end ? 1 : -EPROTO;
	default:
		return -EPROTO;
	}
}

bool collect_refused(const struct collect *c)
{
	const char *ending = json_string_value(json_object_get(c->end, "ending"));
	return ending && streq(ending, "refused");
}

static enum ending read_ending(const char *name)
{
	for (int i = ENDING_OK; name && i <= ENDING_KERNEL_DIED; i++)
		if (streq(name, ending_name((enum ending)i)))
			return (enum ending)i;
	return ENDING_KERNEL_DIED;
}

/* "df (pandas.DataFrame), x (int)"; NULL if the list is empty. */
static char *lost_names(const json_t *list)
{
	struct buf names = { 0 };
	size_t n = MIN(json_array_size(list), (size_t)VARIABLES_MAX);
	for (size_t i = 0; i < n; i++) {
		json_t *one = json_array_get(list, i);
		AUTO(freep) char *name = string_field(one, "name", LOST_CHARS),
				 *type = string_field(one, "type", LOST_CHARS);
		if (name && type)
			buf_printf(&names, "%s%s (%s)", names.len ? ", " : "", name, type);
	}
	return names.len ? buf_steal_str(&names) : NULL;
}

static void read_end(struct collect *c, struct run_result *r)
{
	json_t *end = c->end, *code = json_object_get(end, "exit_code");
	const char *kernel = json_string_value(json_object_get(end, "kernel"));
	r->ending = read_ending(json_string_value(json_object_get(end, "ending")));
	r->detail = string_field(end, "detail", DETAIL_CHARS);
	const char *cause = json_string_value(json_object_get(end, "cause"));
	r->cause = cause ? cause_find(cause) : CAUSE_NONE;
	r->has_exit_code = json_is_integer(code);
	r->exit_code = (int)(json_integer_value(code) & 0xffff);
	r->signal = (int)(number_field(end, "signal") & 0x7f);
	r->duration_ms = number_field(end, "duration_ms");
	r->memory_peak = number_field(end, "memory_peak");
	r->memory_limit = number_field(end, "memory_limit");
	r->memory_files = number_field(end, "memory_files");
	r->oom_kills = number_field(end, "oom_kills");
	r->kernel_restarted = kernel && !streq(kernel, "kept") && !streq(kernel, "restored");
	r->kernel_gone = kernel && streq(kernel, "gone");
	r->displays_dropped = number_field(end, "displays_dropped");
	r->stdout_bytes = number_field(end, "stdout_bytes");
	r->stderr_bytes = number_field(end, "stderr_bytes");
	r->behind = number_field(end, "behind");
	r->lost = lost_names(json_object_get(end, "lost"));
	r->restored = checkpoints_read_restored(json_object_get(end, "restored"));
	json_t *kept = json_object_get(end, "kept");
	r->kept_run = json_is_object(kept) ? c->call : 0;
	r->kept_whole = json_is_true(json_object_get(kept, "whole"));
}

void collect_mark(struct collect *c, const struct wire_mark *mark)
{
	c->partial.duration_ms = mark->duration_ms;
	c->partial.stdout_bytes = mark->stdout_bytes;
	c->partial.stderr_bytes = mark->stderr_bytes;
	c->partial.displays_dropped = mark->displays_dropped;
}

static void take_texts(struct run_result *ret, struct run_result *texts)
{
	ret->parts = take_ptr(texts->parts);
	ret->n_parts = texts->n_parts;
	texts->n_parts = 0;
	ret->stdout_text = take_ptr(texts->stdout_text);
	ret->stderr_text = take_ptr(texts->stderr_text);
	ret->stdout_truncated = texts->stdout_truncated;
	ret->stderr_truncated = texts->stderr_truncated;
}

/* Renders on the loop, so long output is cut to head and tail first. Output is this long here only if nobody will
 * read it or the session has died. */
static void finish_now(struct collect *c, struct run_result *ret)
{
	struct stream_limit limits[2];
	get_limits(c, ret->stdout_bytes, ret->stderr_bytes, limits);
	run_output_bound(&c->live, &c->tail, CUT_STREAM_BYTES);
	run_output_finish(&c->live, &c->tail, limits, ret);
}

void collect_finish(struct collect *c, struct run_result *ret)
{
	*ret = c->partial;
	c->partial = (struct run_result){ 0 };
	for (size_t i = 0; i < ret->n_displays; i++)
		free(c->shown[i].id);
	free(take_ptr(c->shown));
	if (c->end)
		read_end(c, ret);
	ret->displays_dropped = MAX(ret->displays_dropped, c->displays_over); /* PID 1 counts the same displays */
	ret->stdout_bytes = MAX(ret->stdout_bytes, c->live.bytes[0] + c->tail.bytes[0]);
	ret->stderr_bytes = MAX(ret->stderr_bytes, c->live.bytes[1] + c->tail.bytes[1]);
	if (c->raw)
		run_output_join(&c->live, &c->tail, ret->stdout_bytes, ret);
	AUTO(prepared_freep) struct prepared *prepared = take_ptr(c->prepared);
	if (prepared && prepared->ends)
		take_texts(ret, &prepared->texts);
	else
		finish_now(c, ret);
	clear(c);
}
