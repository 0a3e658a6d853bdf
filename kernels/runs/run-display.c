/* Displays and results of a run: how many there may be, which ones are dropped, and what updates replace. */
#include "base/alloc.h"
#include "kernels/runs/run-private.h"

/* Longer ids are not remembered: each update is a separate display. */
#define DISPLAY_ID_MAX 256
#define PICTURE_MIN 200

/* False if there is no room for a display or result of n bytes. */
static bool take_display(struct run *c, size_t n)
{
	if (c->displays >= CALL_DISPLAYS_MAX || c->display_bytes + n > CALL_DISPLAY_BYTES_MAX ||
	    c->runs->display_bytes + n > RUNS_DISPLAY_BYTES_MAX) {
		c->displays_dropped++;
		return false;
	}
	c->displays++;
	return true;
}

/* The size of a picture does not count as text. */
static bool is_picture(const void *json, size_t n)
{
	return n > PICTURE_MIN && memmem(json, n, "\"image/", 7);
}

static void add_structured(struct run *c, enum frame_type type, const void *json, size_t n)
{
	if (c->keep_over && run_keeps_on(c, is_picture(json, n) ? 0 : n))
		run_keep_structured(c, json, n);
	c->display_bytes += n;
	c->runs->display_bytes += n;
	run_log(c, type, json, n);
}

/* Removes a frame from the log, unless it is partly sent. */
static void drop_frame(struct run *c, const struct run_update *u)
{
	size_t at = u->at, size = u->size;
	if (at < c->claimed && at + size > c->sent)
		return;
	memmove(c->log.data + at, c->log.data + at + size, c->log.len - at - size);
	c->log.len -= size;
	if (at < c->sent) {
		c->sent -= size;
		c->claimed -= size;
	}
	if (c->last_frame >= at + size)
		c->last_frame -= size;
	else if (c->last_frame == at)
		c->last_frame = c->log.len; /* no frame to extend */
	for (size_t i = 0; i < c->n_updates; i++)
		if (c->updates[i].at > at)
			c->updates[i].at -= size;
	size_t payload = size - FRAME_HEADER_SIZE;
	c->display_bytes -= payload;
	c->runs->display_bytes -= payload;
	c->displays--;
}

/* The oldest picture that is not being sent now. */
static bool find_picture(const struct run *c, struct run_update *ret)
{
	for (size_t at = 0, size; at < c->log.len; at += size) {
		const uint8_t *frame = c->log.data + at;
		struct frame_header h = frame_header_read(frame);
		size = FRAME_HEADER_SIZE + h.length;
		*ret = (struct run_update){ .at = at, .size = size };
		if (h.type == FRAME_DISPLAY && is_picture(frame + FRAME_HEADER_SIZE, h.length) &&
		    (at >= c->claimed || at + size <= c->sent))
			return true;
	}
	return false;
}

/* If there are too many pictures, the last ones are kept. True if there is room for one of n bytes now. */
static bool replace_pictures(struct run *c, size_t n)
{
	struct run_update oldest;
	while (find_picture(c, &oldest)) {
		for (size_t i = 0; i < c->n_updates; i++)
			if (c->updates[i].size && c->updates[i].at == oldest.at)
				c->updates[i].size = 0;
		drop_frame(c, &oldest);
		if (take_display(c, n))
			return true;
	}
	return false;
}

void run_structured(struct run *c, enum frame_type type, const void *json, size_t n)
{
	if (c->clears)
		run_clear_now(c);
	if (type != FRAME_ERROR && !take_display(c, n) && !(is_picture(json, n) && replace_pictures(c, n)))
		return;
	add_structured(c, type, json, n);
	tail_place(&c->tail);
}

static struct run_update *find_update(struct run *c, const char *id)
{
	for (size_t i = 0; i < c->n_updates; i++)
		if (streq(c->updates[i].id, id))
			return &c->updates[i];
	if (c->n_updates == ARRAY_LEN(c->updates))
		return NULL;
	c->updates[c->n_updates] = (struct run_update){ .id = xstrdup(id) };
	return &c->updates[c->n_updates++];
}

void run_display(struct run *c, const void *json, size_t n, const char *display_id, bool update)
{
	if (!update || !display_id || strlen(display_id) > DISPLAY_ID_MAX) {
		run_structured(c, FRAME_DISPLAY, json, n);
		return;
	}
	if (c->clears)
		run_clear_now(c);
	struct run_update *u = find_update(c, display_id);
	if (u && u->size)
		drop_frame(c, u);
	if (!take_display(c, n)) {
		if (u)
			u->size = 0;
		return;
	}
	size_t at = c->log.len;
	add_structured(c, FRAME_DISPLAY, json, n);
	if (u) {
		u->at = at;
		u->size = c->log.len - at;
	}
}
