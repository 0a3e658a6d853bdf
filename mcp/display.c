#include "mcp/display.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/utf8.h"
#include "mcp/image.h"
#include "mcp/text.h"

/* Maximum bytes of data for one part, and for all parts. The HTML of a plot library takes megabytes. */
#define PART_DATA_MAX 30000
#define ALL_DATA_MAX 200000
/* Maximum bytes of a part that is shown as text because the bundle has no plain text. */
#define SHOWN_MAX 2000
/* Maximum bytes of base64: of one picture, and of all pictures that are checked. */
#define PICTURE_MAX (1u << 20)
#define CHECKED_MAX (4u << 20)
/* Text with more bytes than this per character that may be shown is cut before it is processed. */
#define BYTES_PER_CHAR 8

static const struct mime_part *find_part(const struct mime_bundle *b, const char *type)
{
	for (size_t i = 0; i < b->n; i++)
		if (streq(b->parts[i].type, type))
			return &b->parts[i];
	return NULL;
}

static const struct mime_part *best_image(const struct mime_bundle *b)
{
	const struct mime_part *best = NULL;
	for (size_t i = 0; i < b->n; i++)
		if (image_rank(b->parts[i].type) > (best ? image_rank(best->type) : 0))
			best = &b->parts[i];
	return best;
}

static bool is_textual(const char *type)
{
	static const char *const others[] = { "application/json", "application/javascript", "application/xml",
					      "image/svg+xml" };
	if (strncmp(type, "text/", 5) == 0)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (streq(type, others[i]))
			return true;
	size_t n = strlen(type);
	return n > 5 && streq(type + n - 5, "+json");
}

/* The size of a part in bytes; for a picture, its size once decoded. */
static size_t part_size(const struct mime_part *part)
{
	return image_rank(part->type) > 0 ? part->len / 4 * 3 : part->len;
}

bool display_has_picture(const struct mime_bundle *b)
{
	return best_image(b) != NULL;
}

struct found {
	const struct mime_part **v;
	size_t n;
};

static void find_one(struct found *found, const struct mime_bundle *b)
{
	const struct mime_part *part = best_image(b);
	if (!part)
		return;
	found->v = xrealloc(found->v, (found->n + 1) * sizeof(*found->v));
	found->v[found->n++] = part;
}

static void find_all(struct found *found, const struct run_result *run)
{
	for (size_t i = 0; i < run->n_parts; i++) {
		if (run->parts[i].kind == PART_DISPLAY)
			find_one(found, &run->displays[run->parts[i].display]);
		else if (run->parts[i].kind == PART_RESULT)
			find_one(found, &run->result);
	}
}

/* The last pictures are sent, so they are checked first. Pictures that are too large to send are not checked. */
void pictures_collect(struct pictures *p, const struct run_result *run)
{
	struct found found = { 0 };
	size_t left = CHECKED_MAX;
	for (size_t i = 0; i < run->n_earlier; i++)
		if (run->earlier[i].ended)
			find_all(&found, &run->earlier[i].result);
	find_all(&found, run);
	*p = (struct pictures){ .v = xcalloc(found.n + 1, sizeof(*p->v)), .n = found.n };
	for (size_t i = found.n; i > 0; i--) {
		const struct mime_part *part = found.v[i - 1];
		struct picture *pic = &p->v[i - 1];
		pic->large = part->len > MIN(left, (size_t)PICTURE_MAX);
		if (pic->large)
			continue;
		left -= part->len;
		pic->data = image_take(part->data, part->len, &pic->type, &pic->bytes);
	}
	free(found.v);
}

void pictures_release(struct pictures *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->v[i].data);
	free(p->v);
	*p = (struct pictures){ 0 };
}

void pictures_choose(struct pictures *p, size_t max, size_t budget)
{
	size_t sent = 0;
	unsigned number = 0;
	for (size_t i = p->n; i > 0; i--) {
		struct picture *pic = &p->v[i - 1];
		size_t cost = pic->data ? strlen(pic->data) + 64 : SIZE_MAX;
		/* A single picture may exceed the budget. */
		bool only = p->n == 1 && pic->data;
		if (sent == max || (cost > budget && !only))
			continue;
		pic->number = 1;
		sent++;
		budget -= MIN(cost, budget);
	}
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].number)
			p->v[i].number = ++number;
}

/* A short form that can be read as text; the best one that the bundle has. */
static const struct mime_part *readable_part(const struct mime_bundle *b)
{
	static const char *const types[] = { "text/markdown", "text/latex", "application/json", "image/svg+xml",
					     "text/html" };
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		const struct mime_part *part = find_part(b, types[i]);
		if (part && part->len <= SHOWN_MAX)
			return part;
	}
	return NULL;
}

/* True for the data about a figure or a table that kernels add for programs; it is not a form to show. */
static bool is_description(const char *type)
{
	return strncmp(type, "application/vnd.husk.", strlen("application/vnd.husk.")) == 0;
}

/* True for texts such as "<Map object>" and "<Figure size 640x480 with 1 Axes>", which tell the reader little. */
static bool says_little(const struct mime_part *plain)
{
	return plain->data[0] == '<' && streq(plain->type, "text/plain");
}

/* True if the text of a drawing is its long markup, as R prints it. */
static bool repeats_drawing(const struct mime_bundle *b, const struct mime_part *plain)
{
	return plain && plain->len > SHOWN_MAX && find_part(b, "image/svg+xml") && strstr(plain->data, "<svg");
}

/* Lists types and sizes, for bundles without anything better to show. */
static char *list_types(const struct mime_bundle *b, const struct mime_part *shown)
{
	struct buf out = { 0 };
	for (size_t i = 0; i < b->n; i++) {
		const struct mime_part *part = &b->parts[i];
		if (part != shown && !is_description(part->type) && !streq(part->type, "application/json"))
			buf_printf(&out, "%s%s, %zu bytes", out.len ? "; " : "", part->type, part_size(part));
	}
	return buf_steal_str(&out);
}

static char *shown_text(const struct mime_part *part, size_t max_chars)
{
	return part->len / BYTES_PER_CHAR > max_chars ? text_cut(part->data, max_chars, false) :
							xstrndup(part->data, part->len);
}

char *display_text(const struct mime_bundle *b, size_t max_chars)
{
	const struct mime_part *plain = find_part(b, "text/plain");
	if (!plain && !display_has_picture(b))
		plain = readable_part(b);
	if (display_has_picture(b))
		return plain && !says_little(plain) ? shown_text(plain, max_chars) : xstrdup("");
	bool repeated = repeats_drawing(b, plain);
	if (plain && !says_little(plain) && !repeated)
		return shown_text(plain, max_chars);
	AUTO(freep) char *others = list_types(b, plain);
	if (!plain || repeated)
		return *others ? xasprintf("(%s)", others) : xstrdup("");
	AUTO(freep) char *text = shown_text(plain, max_chars);
	if (!*others)
		return take_ptr(text);
	return xasprintf("%s%s(%s)", text, strchr(text, '\n') ? "\n" : " ", others);
}

static json_t *describe_part(const struct mime_part *part, size_t text_max, size_t *left)
{
	json_t *entry = json_pack("{s:o, s:I}", "type", json_text(part->type), "size", (json_int_t)part_size(part));
	if (is_textual(part->type) && part->len <= MIN(MIN(text_max, (size_t)PART_DATA_MAX), *left)) {
		*left -= part->len;
		json_object_set_new(entry, "data", json_text(part->data));
	}
	return entry;
}

/* The richest form of a display, chosen as the reference does. One is enough, since all forms show the same thing. */
static const struct mime_part *richest_part(const struct mime_bundle *b)
{
	static const char *const types[] = { "text/html", "image/svg+xml", "text/markdown", "text/latex",
					     "application/json" };
	const struct mime_part *part = best_image(b);
	for (size_t i = 0; !part && i < ARRAY_LEN(types); i++)
		part = find_part(b, types[i]);
	for (size_t i = 0; !part && i < b->n; i++)
		if (!streq(b->parts[i].type, "text/plain") && !is_description(b->parts[i].type))
			part = &b->parts[i];
	return part ? part : find_part(b, "text/plain");
}

json_t *display_list(const struct run_result *run, size_t text_max)
{
	json_t *list = json_array();
	size_t left = ALL_DATA_MAX;
	for (size_t i = 0; i < run->n_displays; i++) {
		const struct mime_part *part = richest_part(&run->displays[i]);
		if (part)
			json_array_append_new(list, describe_part(part, text_max, &left));
	}
	/* Text forms of the result are left out here, because display_result() has them. */
	const struct mime_part *part = richest_part(&run->result);
	if (part && !is_textual(part->type))
		json_array_append_new(list, describe_part(part, text_max, &left));
	return list;
}

json_t *display_result(const struct mime_bundle *b, size_t text_max, json_t *counts)
{
	json_t *map = json_object();
	for (size_t i = 0; i < b->n; i++) {
		const struct mime_part *part = &b->parts[i];
		if (!is_textual(part->type))
			continue;
		if (part->len <= text_max)
			json_object_set_new(map, part->type, json_text(part->data));
		else
			json_object_set_new(counts, part->type,
					    json_integer((json_int_t)utf8_count(part->data, part->len)));
	}
	if (json_object_size(map) + json_object_size(counts) > 0)
		return map;
	json_decref(map);
	return json_null();
}
