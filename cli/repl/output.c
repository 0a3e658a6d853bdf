#include "cli/repl/output.h"

#include "base/alloc.h"
#include "base/list.h"
#include "cli/repl/picture.h"
#include "cli/repl/sixel.h"

#define STEM "husk-repl"

struct item {
	struct list node;
	int stream; /* 0 = it is a picture */
	struct buf text;
	struct picture picture;
};

struct output {
	struct output_spec spec;
	struct list items;
	struct sixel *sixel;
	bool querying;
	void (*on_idle)(void *ctx);
	void *idle_ctx;
};

static struct item *first(struct output *o)
{
	return list_empty(&o->items) ? NULL : container_of(o->items.next, struct item, node);
}

static void drop(struct item *item)
{
	list_remove(&item->node);
	buf_release(&item->text);
	picture_release(&item->picture);
	free(item);
}

static void write_bytes(int stream, const void *bytes, size_t n)
{
	FILE *to = stream == 2 ? stderr : stdout;
	fwrite(bytes, 1, n, to);
	fflush(to);
}

static void save(const struct picture *p)
{
	AUTO(freep) char *path = picture_save(p, STEM);
	if (path)
		fprintf(stderr, "picture: %s\n", path);
}

static void flush(struct output *o);

static void on_sixel(void *ctx, const char *sequences, size_t n)
{
	struct output *o = ctx;
	struct item *item = first(o);
	if (sequences) {
		write_bytes(1, sequences, n);
		write_bytes(1, "\n", 1);
	} else {
		save(&item->picture);
	}
	drop(item);
	o->sixel = sixel_free(o->sixel);
	flush(o);
}

/* True if the picture was shown or saved. Otherwise a later event calls flush() again. */
static bool write_picture(struct output *o, const struct picture *p)
{
	AUTO(buf_release) struct buf sequences = { 0 };
	enum pictures how = o->spec.pictures;
	if (how == PICTURES_UNKNOWN) {
		if (!o->querying)
			o->spec.query_terminal(o->spec.ctx);
		o->querying = true;
		return false;
	}
	if (how == PICTURES_SIXEL) {
		o->sixel = sixel_start(o->spec.loop, p->bytes.data, p->bytes.len, on_sixel, o);
		if (o->sixel)
			return false;
	}
	if (picture_inline(&sequences, how, p->type, p->bytes.data, p->bytes.len))
		write_bytes(1, sequences.data, sequences.len);
	else
		save(p);
	return true;
}

static void flush(struct output *o)
{
	for (struct item *item; !o->sixel && (item = first(o)); drop(item)) {
		if (item->stream)
			write_bytes(item->stream, item->text.data, item->text.len);
		else if (!write_picture(o, &item->picture))
			return;
	}
	if (!o->sixel && o->on_idle)
		take_ptr(o->on_idle)(o->idle_ctx);
}

void output_know(struct output *o, enum pictures pictures)
{
	o->spec.pictures = pictures;
	o->querying = false;
	flush(o);
}

void output_text(struct output *o, int stream, const void *text, size_t n)
{
	if (list_empty(&o->items)) {
		write_bytes(stream, text, n);
		return;
	}
	struct item *item = new0(struct item);
	item->stream = stream;
	buf_add(&item->text, text, n);
	list_append(&o->items, &item->node);
}

void output_picture(struct output *o, struct picture *picture)
{
	struct item *item = new0(struct item);
	bool waits = !list_empty(&o->items);
	item->picture = *picture;
	picture->bytes = (struct buf){ 0 };
	list_append(&o->items, &item->node);
	if (!waits)
		flush(o);
}

void output_when_idle(struct output *o, void (*fn)(void *ctx), void *ctx)
{
	if (list_empty(&o->items)) {
		fn(ctx);
		return;
	}
	o->on_idle = fn;
	o->idle_ctx = ctx;
}

struct output *output_new(const struct output_spec *spec)
{
	struct output *o = new0(struct output);
	o->spec = *spec;
	list_init(&o->items);
	return o;
}

struct output *output_free(struct output *o)
{
	if (!o)
		return NULL;
	sixel_free(o->sixel);
	for (struct item *item; (item = first(o));)
		drop(item);
	free(o);
	return NULL;
}
