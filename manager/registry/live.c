#include "manager/registry/live.h"

#include "base/alloc.h"
#include "base/utf8.h"

/* A program that switches streams every few bytes could make any number of pieces. After this number, bytes are added
 * to the last piece of their stream. */
#define PIECES_MAX 10000
/* The loop itself cleans at most this number of bytes; a worker job cleans more. */
#define LIGHT_BYTES (64u << 10)
/* A tail for which no worker job is started is cut to this number of bytes. */
#define CUT_BYTES (256u << 10)

static void forget_tail(struct live *l)
{
	for (size_t i = 0; i < l->n_tail; i++)
		buf_release(&l->tail[i].bytes);
	free(take_ptr(l->tail));
	l->n_tail = l->tail_cap = 0;
}

void live_release(struct live *l)
{
	buf_release(&l->partial[0]);
	buf_release(&l->partial[1]);
	forget_tail(l);
}

static void show(struct live *l, int stream, const char *text, size_t n)
{
	if (n && l->viewer.on_output)
		l->viewer.on_output(l->viewer.ctx, stream, text, n);
}

/* last: no bytes follow that could complete a character. */
static void show_bytes(struct live *l, int stream, const void *data, size_t n, bool last)
{
	struct buf *partial = &l->partial[stream - 1];
	AUTO(buf_release) struct buf bytes = { 0 }, text = { 0 };
	buf_add(&bytes, partial->data, partial->len);
	buf_add(&bytes, data, n);
	size_t unfinished = last ? 0 : utf8_partial_end(bytes.data, bytes.len);
	buf_reset(partial);
	buf_add(partial, bytes.data + bytes.len - unfinished, unfinished);
	utf8_clean(&text, bytes.data, bytes.len - unfinished);
	show(l, stream, buf_str(&text), text.len);
}

void live_output(struct live *l, int stream, const void *data, size_t n)
{
	int i = stream - 1;
	size_t known = (size_t)MIN(l->known[i], (uint64_t)n);
	l->began = true;
	l->known[i] -= known;
	l->shown[i] += n - known;
	if (n > known)
		show_bytes(l, stream, (const uint8_t *)data + known, n - known, /* last= */ false);
}

void live_display(struct live *l, const struct shown_display *display)
{
	if (display->clear) {
		live_release(l);
		*l = (struct live){ .viewer = l->viewer };
	} else if (!display->update) {
		if (l->known_displays) {
			l->known_displays--;
			return;
		}
		l->displays++;
	}
	l->began = true;
	l->viewer.on_display(l->viewer.ctx, display);
}

/* The two streams alternate in consecutive pieces, so the last piece of each stream is one of the last two. */
static struct live_piece *piece_for(struct live *l, int stream)
{
	if (l->n_tail && l->tail[l->n_tail - 1].stream == stream)
		return &l->tail[l->n_tail - 1];
	if (l->n_tail >= PIECES_MAX)
		return &l->tail[l->n_tail - 2];
	if (l->n_tail == l->tail_cap) {
		l->tail_cap = l->tail_cap ? 2 * l->tail_cap : 8;
		l->tail = xrealloc(l->tail, l->tail_cap * sizeof(*l->tail));
	}
	l->tail[l->n_tail] = (struct live_piece){ .stream = stream };
	return &l->tail[l->n_tail++];
}

void live_tail(struct live *l, int stream, const void *data, size_t n)
{
	if (n)
		buf_add(&piece_for(l, stream)->bytes, data, n);
}

void live_replay(struct live *l, size_t displays)
{
	for (int i = 0; i < 2; i++)
		l->known[i] = l->shown[i];
	l->known_displays = MIN(l->displays, displays);
	forget_tail(l);
}

/* Shows output that came while the caller was not waiting. */
static void show_answer(struct live *l, const struct run_result *r)
{
	for (size_t i = 0; i < r->n_parts; i++) {
		const struct run_part *part = &r->parts[i];
		if (part->kind == PART_DISPLAY)
			l->viewer.on_display(l->viewer.ctx,
					     &(struct shown_display){ .bundle = &r->displays[part->display] });
		else if (part->text)
			show(l, part->kind == PART_STDOUT ? 1 : 2, part->text, strlen(part->text));
	}
}

static void show_gap(struct live *l, int stream, uint64_t missing)
{
	AUTO(freep) char *line = xasprintf("\n... [%llu bytes cut] ...\n", (unsigned long long)missing);
	if (missing)
		show(l, stream, line, strlen(line));
}

static size_t tail_bytes(const struct live *l)
{
	size_t n = 0;
	for (size_t i = 0; i < l->n_tail; i++)
		n += l->tail[i].bytes.len;
	return n;
}

bool live_end_is_heavy(const struct live *l)
{
	return tail_bytes(l) > LIGHT_BYTES;
}

void live_cut_tail(struct live *l)
{
	size_t n = tail_bytes(l), over = n - MIN(n, (size_t)CUT_BYTES);
	for (size_t i = 0; over && i < l->n_tail; i++) {
		struct buf *bytes = &l->tail[i].bytes;
		size_t cut = MIN(over, bytes->len);
		over -= cut;
		/* The rest of a character that is cut goes too. */
		if (!over)
			cut += utf8_partial_start(bytes->data + cut, bytes->len - cut);
		buf_consume(bytes, cut);
	}
}

void live_mark(struct live *l, uint64_t stdout_bytes, uint64_t stderr_bytes)
{
	/* A character may continue after the mark, so it stays unfinished if nothing is missing. */
	if (l->n_tail || stdout_bytes > l->shown[0] || stderr_bytes > l->shown[1])
		live_end(l, &(struct run_result){ .stdout_bytes = stdout_bytes, .stderr_bytes = stderr_bytes });
	memset(l->shown, 0, sizeof(l->shown));
	memset(l->known, 0, sizeof(l->known));
	l->displays = l->known_displays = 0;
}

void live_end(struct live *l, const struct run_result *r)
{
	uint64_t missing[2] = { r->stdout_bytes, r->stderr_bytes };
	if (!l->began && !l->n_tail) {
		show_answer(l, r);
		return;
	}
	for (size_t i = 0; i < l->n_tail; i++)
		l->shown[l->tail[i].stream - 1] += l->tail[i].bytes.len;
	for (int i = 0; i < 2; i++)
		missing[i] -= MIN(missing[i], l->shown[i]);
	for (size_t i = 0; i < l->n_tail; i++) {
		struct live_piece *piece = &l->tail[i];
		show_gap(l, piece->stream, missing[piece->stream - 1]);
		missing[piece->stream - 1] = 0;
		show_bytes(l, piece->stream, piece->bytes.data, piece->bytes.len, /* last= */ false);
	}
	for (int stream = 1; stream <= 2; stream++) {
		if (l->partial[stream - 1].len)
			show_bytes(l, stream, NULL, 0, /* last= */ true);
		show_gap(l, stream, missing[stream - 1]);
	}
	forget_tail(l);
}
