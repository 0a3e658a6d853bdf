#include "manager/line/run-output.h"

#include "base/alloc.h"
#include "base/screen.h"
#include "base/utf8.h"

/* A program that switches streams every few bytes can produce more pieces than this. Further output is appended to
 * the last piece of its stream. */
#define PIECES_MAX 10000

void run_output_release(struct run_output *p)
{
	for (size_t i = 0; i < p->n; i++)
		buf_release(&p->v[i].bytes);
	free(p->v);
	*p = (struct run_output){ 0 };
}

static struct piece *append(struct run_output *p, struct piece piece)
{
	if (p->n == p->cap) {
		p->cap = p->cap ? 2 * p->cap : 8;
		p->v = xrealloc(p->v, p->cap * sizeof(*p->v));
	}
	p->v[p->n] = piece;
	return &p->v[p->n++];
}

static bool is_stream(enum part_kind kind)
{
	return kind == PART_STDOUT || kind == PART_STDERR;
}

void run_output_add(struct run_output *p, enum part_kind kind, const void *data, size_t n)
{
	if (!is_stream(kind)) {
		if (p->n < PIECES_MAX)
			append(p, (struct piece){ .kind = kind });
		return;
	}
	if (p->n < PIECES_MAX || !p->last[kind]) {
		append(p, (struct piece){ .kind = kind });
		p->last[kind] = p->n;
	}
	buf_add(&p->v[p->last[kind] - 1].bytes, data, n);
	p->bytes[kind] += n;
}

void run_output_add_display(struct run_output *p, size_t display, bool unplaced)
{
	if (p->n < PIECES_MAX)
		append(p, (struct piece){ .kind = PART_DISPLAY, .display = display, .unplaced = unplaced });
}

void run_output_copy(struct run_output *to, const struct run_output *from)
{
	*to = *from;
	to->cap = to->n;
	to->v = xcalloc(to->n + 1, sizeof(*to->v));
	for (size_t i = 0; i < to->n; i++) {
		to->v[i] = from->v[i];
		to->v[i].bytes = (struct buf){ 0 };
		if (from->v[i].bytes.len)
			buf_add(&to->v[i].bytes, from->v[i].bytes.data, from->v[i].bytes.len);
	}
}

/* Moves everything after the first `keep` bytes of the streams from live to tail. */
static void split(struct run_output *live, struct run_output *tail, size_t keep)
{
	for (size_t i = 0; i < live->n; i++) {
		struct piece *piece = &live->v[i];
		size_t stays = MIN(keep, piece->bytes.len), goes = piece->bytes.len - stays;
		keep -= stays;
		if (!goes)
			continue;
		run_output_add(tail, piece->kind, piece->bytes.data + stays, goes);
		piece->bytes.len = stays;
		live->bytes[piece->kind] -= goes;
	}
}

static void drop_head(struct run_output *p, size_t keep)
{
	for (size_t i = p->n; i > 0; i--) {
		struct piece *piece = &p->v[i - 1];
		size_t goes = piece->bytes.len - MIN(keep, piece->bytes.len);
		keep -= MIN(keep, piece->bytes.len);
		if (!goes)
			continue;
		buf_consume(&piece->bytes, goes);
		p->bytes[piece->kind] -= goes;
	}
}

void run_output_bound(struct run_output *live, struct run_output *tail, size_t max)
{
	AUTO(run_output_release) struct run_output dropped = { 0 };
	if (live->bytes[0] + live->bytes[1] + tail->bytes[0] + tail->bytes[1] <= max)
		return;
	/* Marks in the tail refer to live pieces, some of which are removed below. */
	for (size_t i = 0; i < tail->n; i++)
		if (tail->v[i].kind == PART_GAP)
			tail->v[i].kind = PART_STDOUT;
	bool has_tail = tail->bytes[0] + tail->bytes[1] > 0;
	split(live, has_tail ? &dropped : tail, max / 2);
	drop_head(tail, max / 2);
}

/* --- texts ------------------------------------------------------------------------------------------------------- */

static void append_cut(struct buf *text, const char *head, size_t head_len, const char *tail, size_t tail_len,
		       const char *total, uint64_t max_chars)
{
	size_t first = (size_t)(max_chars - max_chars / 2), last = (size_t)(max_chars / 2);
	size_t head_bytes = utf8_head(head, head_len, first), tail_bytes = utf8_tail(tail, tail_len, last);
	buf_add(text, head, head_bytes);
	buf_printf(text, "\n\n... [truncated — %s total, showing the first %zu and the last %zu characters] ...\n\n",
		   total, utf8_count(head, head_bytes), utf8_count(tail + tail_len - tail_bytes, tail_bytes));
	buf_add(text, tail + tail_len - tail_bytes, tail_bytes);
}

char *run_output_text(struct buf *head, struct buf *tail, uint64_t total, bool gap, uint64_t max_chars, bool *ret_cut)
{
	AUTO(buf_release) struct buf text = { 0 };
	if (!max_chars)
		max_chars = UINT64_MAX / 2;
	AUTO(freep) char *size = xasprintf("%llu bytes", (unsigned long long)total);
	*ret_cut = true;
	if (gap) {
		append_cut(&text, buf_str(head), head->len, buf_str(tail), tail->len, size, max_chars);
		return buf_steal_str(&text);
	}
	buf_add(&text, head->data, head->len);
	buf_add(&text, tail->data, tail->len);
	*ret_cut = utf8_count(buf_str(&text), text.len) > max_chars;
	if (!*ret_cut)
		return buf_steal_str(&text);
	AUTO(buf_release) struct buf cut = { 0 };
	append_cut(&cut, buf_str(&text), text.len, buf_str(&text), text.len, size, max_chars);
	return buf_steal_str(&cut);
}

char *run_output_cut(const char *s, size_t n, uint64_t max_chars)
{
	AUTO(buf_release) struct buf text = { 0 };
	size_t chars = utf8_count(s, n);
	if (!max_chars || chars <= max_chars)
		return xstrndup(s, n);
	AUTO(freep) char *size = xasprintf("%zu chars", chars);
	append_cut(&text, s, n, s, n, size, max_chars);
	return buf_steal_str(&text);
}

/* --- order ------------------------------------------------------------------------------------------------------- */

static void join(struct run_output *to, struct piece *piece)
{
	struct piece *last = to->n ? &to->v[to->n - 1] : NULL;
	if (last && is_stream(piece->kind) && last->kind == piece->kind) {
		buf_add(&last->bytes, piece->bytes.data, piece->bytes.len);
		buf_release(&piece->bytes);
	} else {
		append(to, *piece);
		piece->bytes = (struct buf){ 0 };
	}
}

static size_t places(const struct run_output *tail)
{
	size_t n = 0;
	for (size_t i = 0; i < tail->n; i++)
		n += tail->v[i].kind == PART_GAP;
	return n;
}

/* The index of the first of the last n pieces that have a mark in the tail. */
static size_t last_placed(const struct run_output *live, size_t n)
{
	size_t i = live->n;
	while (i > 0 && n > 0)
		n -= !live->v[--i].unplaced;
	return i;
}

/* Moves to *ret: the live output up to the start of the tail, then the tail, with the other live pieces at their
 * marks. */
static void put_in_order(struct run_output *live, struct run_output *tail, bool gap, struct run_output *ret)
{
	/* Beyond PIECES_MAX, pieces were joined, so marks can no longer be matched to them. */
	size_t next = live->n < PIECES_MAX ? last_placed(live, places(tail)) : live->n;
	for (size_t i = 0; i < next; i++)
		join(ret, &live->v[i]);
	if (gap)
		append(ret, (struct piece){ .kind = PART_GAP });
	for (size_t i = 0; i < tail->n; i++) {
		if (tail->v[i].kind != PART_GAP) {
			join(ret, &tail->v[i]);
			continue;
		}
		while (next < live->n && live->v[next].unplaced)
			join(ret, &live->v[next++]);
		if (next < live->n)
			join(ret, &live->v[next++]);
	}
	while (next < live->n)
		join(ret, &live->v[next++]);
}

/* The offset at which the last line begins. The first `known` bytes contain no line end. */
static size_t open_line(const struct buf *b, size_t known)
{
	const uint8_t *end = b->len > known ? memrchr(b->data + known, '\n', b->len - known) : NULL;
	return end ? (size_t)(end - b->data) + 1 : 0;
}

/* Moves the bytes of `from` after `at` to the start of `to`, and returns how many were copied. If all of `from`
 * moves, its buffer is reused. So a line that many pieces overwrite is not copied again for each of them. */
static size_t move_end(struct buf *from, size_t at, struct buf *to)
{
	struct buf moved = { 0 };
	size_t copied = to->len;
	if (at == from->len)
		return 0;
	if (at == 0) {
		moved = *from;
		*from = (struct buf){ 0 };
	} else {
		buf_add(&moved, from->data + at, from->len - at);
		copied += from->len - at;
		from->len = at;
	}
	buf_add(&moved, to->data, to->len);
	buf_release(to);
	*to = moved;
	return copied;
}

static bool writes_anew(const struct buf *b)
{
	return (b->data[0] == '\r' && b->len > 1 && b->data[1] != '\n') || b->data[0] == '\b';
}

size_t run_output_mend(struct run_output *p)
{
	size_t copied = 0;
	struct {
		struct buf *bytes; /* last piece; NULL = none since the gap */
		size_t line;	   /* where its last line begins */
	} last[2] = { { 0 } };
	for (size_t i = 0; i < p->n; i++) {
		struct piece *piece = &p->v[i];
		if (piece->kind == PART_GAP)
			last[0].bytes = last[1].bytes = NULL;
		if (!is_stream(piece->kind) || !piece->bytes.len)
			continue;
		struct buf *before = last[piece->kind].bytes;
		size_t moved = 0, line = last[piece->kind].line;
		if (before) {
			size_t partial = utf8_partial_end(before->data, before->len);
			size_t at = writes_anew(&piece->bytes) ? line : before->len - partial;
			moved = before->len - at;
			copied += move_end(before, at, &piece->bytes);
		}
		last[piece->kind].bytes = &piece->bytes;
		last[piece->kind].line = open_line(&piece->bytes, moved);
	}
	return copied;
}

/* Removes partial characters beside the gap. */
static void trim_gap(struct run_output *p)
{
	bool seen[2] = { false, false }, gap = false;
	for (size_t i = 0; i < p->n; i++) {
		struct piece *piece = &p->v[i];
		gap |= piece->kind == PART_GAP;
		if (!gap || !is_stream(piece->kind) || seen[piece->kind])
			continue;
		seen[piece->kind] = true;
		buf_consume(&piece->bytes, utf8_partial_start(piece->bytes.data, piece->bytes.len));
	}
	for (int kind = PART_STDOUT; gap && kind <= PART_STDERR; kind++) {
		struct piece *last = NULL;
		for (size_t i = 0; i < p->n && p->v[i].kind != PART_GAP; i++)
			last = (int)p->v[i].kind == kind ? &p->v[i] : last;
		if (last)
			last->bytes.len -= utf8_partial_end(last->bytes.data, last->bytes.len);
	}
}

/* --- limits ------------------------------------------------------------------------------------------------------ */

static void add_gap(struct run_result *r, uint64_t bytes)
{
	if (r->n_parts && r->parts[r->n_parts - 1].kind == PART_GAP)
		r->parts[r->n_parts - 1].bytes += bytes;
	else
		run_result_add_part(r, (struct run_part){ .kind = PART_GAP, .bytes = bytes });
}

/* Appends the portion of a part that is kept. The part's first character is number `at` of the stream's `total`. */
static void add_cut(struct run_result *to, struct run_part *part, size_t at, size_t total, size_t max_chars)
{
	size_t n = strlen(part->text), chars = utf8_count(part->text, n);
	size_t first = max_chars - max_chars / 2, last = total - max_chars / 2;
	size_t head = utf8_head(part->text, n, first > at ? first - at : 0);
	size_t tail = utf8_tail(part->text, n, at + chars > last ? MIN(at + chars - last, chars) : 0);
	if (head + tail >= n) {
		run_result_add_part(to, *part);
		return;
	}
	run_result_add_text(to, part->kind, xstrndup(part->text, head));
	add_gap(to, n - head - tail);
	run_result_add_text(to, part->kind, xstrndup(part->text + n - tail, tail));
	free(part->text);
}

/* Keeps head and tail of a stream across all of its parts. */
static void cut_stream(struct run_result *r, enum part_kind kind, uint64_t max_chars)
{
	size_t total = 0, at = 0;
	for (size_t i = 0; i < r->n_parts; i++)
		if (r->parts[i].kind == kind)
			total += utf8_count(r->parts[i].text, strlen(r->parts[i].text));
	if (!max_chars || total <= max_chars)
		return;
	struct run_result cut = { 0 };
	for (size_t i = 0; i < r->n_parts; i++) {
		struct run_part *part = &r->parts[i];
		if (part->kind == PART_GAP) {
			add_gap(&cut, part->bytes);
		} else if (part->kind != kind) {
			run_result_add_part(&cut, *part);
		} else {
			size_t chars = utf8_count(part->text, strlen(part->text));
			add_cut(&cut, part, at, total, (size_t)max_chars);
			at += chars;
		}
	}
	free(r->parts);
	r->parts = cut.parts;
	r->n_parts = cut.n_parts;
}

/* --- the result -------------------------------------------------------------------------------------------------- */

/* Text before and after the gap, for each stream. */
struct stream_texts {
	struct buf head[2], tail[2];
};

static void add_parts(struct run_output *p, uint64_t missing, struct run_result *ret, struct stream_texts *texts)
{
	bool after_gap = false;
	for (size_t i = 0; i < p->n; i++) {
		struct piece *piece = &p->v[i];
		if (piece->kind == PART_GAP) {
			add_gap(ret, missing);
			after_gap = true;
		} else if (!is_stream(piece->kind)) {
			run_result_add_part(ret, (struct run_part){ .kind = piece->kind, .display = piece->display });
		} else {
			AUTO(buf_release) struct buf text = { 0 };
			screen_text(&text, piece->bytes.data, piece->bytes.len);
			buf_add(&(after_gap ? texts->tail : texts->head)[piece->kind], text.data, text.len);
			run_result_add_text(ret, piece->kind, buf_steal_str(&text));
		}
	}
}

void run_output_finish(struct run_output *live, struct run_output *tail, const struct stream_limit limits[2],
		       struct run_result *ret)
{
	AUTO(run_output_release) struct run_output ordered = { 0 };
	struct stream_texts texts = { 0 };
	uint64_t missing[2];
	for (int i = 0; i < 2; i++) {
		uint64_t kept = live->bytes[i] + tail->bytes[i];
		missing[i] = limits[i].total > kept ? limits[i].total - kept : 0;
	}
	put_in_order(live, tail, missing[0] + missing[1] > 0, &ordered);
	(void)run_output_mend(&ordered);
	trim_gap(&ordered);
	add_parts(&ordered, missing[0] + missing[1], ret, &texts);
	ret->stdout_text = run_output_text(&texts.head[0], &texts.tail[0], limits[0].total, missing[0] > 0,
					   limits[0].max_chars, &ret->stdout_truncated);
	ret->stderr_text = run_output_text(&texts.head[1], &texts.tail[1], limits[1].total, missing[1] > 0,
					   limits[1].max_chars, &ret->stderr_truncated);
	for (int i = 0; i < 2; i++) {
		cut_stream(ret, (enum part_kind)i, limits[i].max_chars);
		buf_release(&texts.head[i]);
		buf_release(&texts.tail[i]);
	}
	run_output_release(live);
	run_output_release(tail);
}

static void join_bytes(struct run_output *p, struct buf *to)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].kind == PART_STDOUT)
			buf_add(to, p->v[i].bytes.data, p->v[i].bytes.len);
	run_output_release(p);
}

void run_output_join(struct run_output *live, struct run_output *tail, uint64_t total, struct run_result *ret)
{
	struct buf all = { 0 };
	uint64_t kept = live->bytes[PART_STDOUT] + tail->bytes[PART_STDOUT];
	join_bytes(live, &all);
	/* CAN ends a control sequence that was cut. */
	if (total > kept)
		buf_printf(&all, "\x18\r\n[… %llu bytes cut …]\r\n", (unsigned long long)(total - kept));
	join_bytes(tail, &all);
	ret->raw_len = all.len;
	ret->raw = buf_steal_str(&all);
}
