#include "manager/engine/kubernetes/layer.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "manager/model/cause.h"

#define BLOCK 512u
#define ENTRIES_MAX 1000000u
#define NAME_MAX_BYTES 4096u

/* The fields of a header: offset and length. */
#define F_NAME 0, 100
#define F_MODE 100, 8
#define F_UID 108, 8
#define F_GID 116, 8
#define F_SIZE 124, 12
#define F_MTIME 136, 12
#define F_SUM 148, 8
#define F_LINK 157, 100
#define AT_TYPE 156
#define AT_MAGIC 257

enum kind {
	KIND_FILE = '0',
	KIND_HARD_LINK = '1',
	KIND_SYMBOLIC_LINK = '2',
	KIND_FOLDER = '5',
	KIND_LONG_NAME = 'L',
	KIND_LONG_LINK = 'K',
};

struct entry {
	char kind;
	uint64_t mode, size, mtime;
};

struct layer {
	struct layer_spec spec;
	uint8_t block[BLOCK];
	size_t have;		/* bytes of the block */
	uint64_t data, padding; /* bytes of the entry that are still to come */
	struct buf *long_to;	/* they belong to a long name; NULL = to a file */
	struct buf name, link;	/* of the next entry, if it is too long for a header */
	json_t *folders;	/* that exist so far */
	uint64_t written, entries;
	size_t names;	/* bytes of the names in folders */
	unsigned zeros; /* empty blocks in a row */
	bool complete;
};

struct layer *layer_new(const struct layer_spec *spec)
{
	struct layer *l = new0(struct layer);
	l->spec = *spec;
	l->folders = json_object();
	l->name.max = l->link.max = NAME_MAX_BYTES;
	return l;
}

struct layer *layer_free(struct layer *l)
{
	if (!l)
		return NULL;
	json_decref(l->folders);
	buf_release(&l->name);
	buf_release(&l->link);
	free(l);
	return NULL;
}

bool layer_is_complete(const struct layer *l)
{
	return l->complete;
}

static int refuse(struct fail *f, const char *why)
{
	return cause_set(f, FAIL_INSTALL, CAUSE_INSTALL_FAILED,
			 "the packages cannot be stored: the archive of the container %s", why);
}

static int put(struct layer *l, const void *data, size_t n, struct fail *f)
{
	l->written += n;
	if (l->written > l->spec.max)
		return cause_set(f, FAIL_INSTALL, CAUSE_INSTALL_SIZE, "the packages are larger than %llu MiB",
				 (unsigned long long)l->spec.max >> 20);
	int r = l->spec.write(l->spec.ctx, data, n);
	return r < 0 ? fail_set(f, FAIL_ENGINE, "cannot keep the packages for the registry: %s", strerror(-r)) : 0;
}

/* --- reading headers ----------------------------------------------------------------------------------------------- */

/* Octal digits, or the big numbers of GNU tar. */
static int read_number(const uint8_t *block, size_t at, size_t n, uint64_t *ret)
{
	const uint8_t *p = block + at;
	uint64_t value = 0;
	size_t i = 0;
	if (*p & 0x80) {
		for (i = 1; i < n; i++) {
			if (value >> 55)
				return -ERANGE;
			value = value << 8 | p[i];
		}
		*ret = value;
		return 0;
	}
	while (i < n && p[i] == ' ')
		i++;
	for (; i < n && p[i] >= '0' && p[i] <= '7'; i++)
		value = value << 3 | (uint64_t)(p[i] - '0');
	*ret = value;
	return i == n || p[i] == ' ' || p[i] == '\0' ? 0 : -EINVAL;
}

static bool sum_is_right(const uint8_t *block)
{
	uint64_t wanted, sum = 0;
	for (size_t i = 0; i < BLOCK; i++)
		sum += i >= 148 && i < 156 ? ' ' : block[i];
	return read_number(block, F_SUM, &wanted) == 0 && wanted == sum;
}

/* The name in the header, unless a long one came before it. */
static void take_name(struct buf *name, const uint8_t *block, size_t at, size_t n)
{
	if (!name->len)
		(void)buf_add(name, block + at, strnlen((const char *)block + at, n));
	else
		name->len = strnlen((const char *)name->data, name->len);
	while (name->len > 1 && name->data[name->len - 1] == '/')
		name->len--;
}

/* --- checks -------------------------------------------------------------------------------------------------------- */

/* Below the folder, and without a component that has a meaning. */
static bool is_inside(const struct layer *l, const char *name)
{
	size_t n = strlen(l->spec.folder);
	if (strncmp(name, l->spec.folder, n) != 0 || (name[n] && name[n] != '/'))
		return false;
	for (const char *p = name + n; *p;) {
		p++;
		size_t len = strcspn(p, "/");
		if (!len || (len == 1 && *p == '.') || (len == 2 && p[0] == '.' && p[1] == '.') ||
		    strncmp(p, ".wh.", 4) == 0)
			return false;
		p += len;
	}
	return true;
}

/* Each entry comes after its folder, and a folder stays one: no entry can be written through a link. */
static bool has_folder(const struct layer *l, const char *name)
{
	const char *slash = strrchr(name, '/');
	AUTO(freep) char *parent = xstrndup(name, slash ? (size_t)(slash - name) : 0);
	return streq(name, l->spec.folder) || json_object_get(l->folders, parent);
}

static int check(struct layer *l, const struct entry *e, const char *name, const char *link, struct fail *f)
{
	bool folder = e->kind == KIND_FOLDER;
	if (strlen(name) != l->name.len || !is_inside(l, name))
		return refuse(f, "names a file outside the folder of packages");
	if (!has_folder(l, name) || (streq(name, l->spec.folder) && !folder) ||
	    (!folder && json_object_get(l->folders, name)))
		return refuse(f, "has a file that is not in a folder");
	if (e->kind == KIND_HARD_LINK && (strlen(link) != l->link.len || !is_inside(l, link) || !has_folder(l, link)))
		return refuse(f, "has a link to a file outside the folder of packages");
	if (e->kind == KIND_SYMBOLIC_LINK && (!*link || strlen(link) != l->link.len))
		return refuse(f, "has a link without a target");
	if (++l->entries > ENTRIES_MAX)
		return refuse(f, "has too many files");
	if (!folder || json_object_get(l->folders, name))
		return 0;
	l->names += strlen(name) + 1;
	if (l->names > LAYER_FOLDERS_MAX)
		return refuse(f, "has too many folders with long names");
	json_object_set_new_nocheck(l->folders, name, json_true());
	return 0;
}

/* --- writing headers ----------------------------------------------------------------------------------------------- */

static void print_number(uint8_t *block, size_t at, size_t n, uint64_t value)
{
	char text[24];
	if (value >> (3 * (n - 1))) {
		for (size_t i = n; i-- > 1; value >>= 8)
			block[at + i] = (uint8_t)value;
		block[at] = 0x80;
		return;
	}
	snprintf(text, sizeof(text), "%0*llo", (int)n - 1, (unsigned long long)value);
	memcpy(block + at, text, n - 1);
}

static void print_text(uint8_t *block, size_t at, size_t n, const char *text)
{
	for (size_t i = 0; i < n && text[i]; i++)
		block[at + i] = (uint8_t)text[i];
}

static int put_header(struct layer *l, const struct entry *e, const char *name, const char *link, struct fail *f)
{
	uint8_t block[BLOCK] = { 0 };
	unsigned sum = 0;
	print_text(block, F_NAME, name);
	print_text(block, F_LINK, link);
	print_number(block, F_MODE, e->mode);
	print_number(block, F_UID, 0);
	print_number(block, F_GID, 0);
	print_number(block, F_SIZE, e->size);
	print_number(block, F_MTIME, e->mtime);
	block[AT_TYPE] = (uint8_t)e->kind;
	memcpy(block + AT_MAGIC, "ustar  ", 8);
	memset(block + 148, ' ', 8);
	for (size_t i = 0; i < BLOCK; i++)
		sum += block[i];
	snprintf((char *)block + 148, 8, "%06o", sum);
	return put(l, block, BLOCK, f);
}

static int put_long(struct layer *l, char kind, const char *text, struct fail *f)
{
	static const uint8_t zeros[BLOCK];
	size_t n = strlen(text) + 1;
	struct entry e = { .kind = kind, .mode = 0644, .size = n };
	if (n <= 100)
		return 0;
	if (put_header(l, &e, "././@LongLink", "", f) < 0 || put(l, text, n, f) < 0)
		return -1;
	return n % BLOCK ? put(l, zeros, BLOCK - n % BLOCK, f) : 0;
}

static int put_entry(struct layer *l, struct entry *e, const char *name, const char *link, struct fail *f)
{
	/* Other users read it, and nobody writes to it. */
	e->mode = e->kind == KIND_FOLDER ? 0755 : (e->mode & 0755) | 0444;
	if (e->kind != KIND_FILE)
		e->size = 0;
	if (put_long(l, KIND_LONG_LINK, link, f) < 0 || put_long(l, KIND_LONG_NAME, name, f) < 0)
		return -1;
	return put_header(l, e, name, link, f);
}

/* --- blocks -------------------------------------------------------------------------------------------------------- */

static bool is_link(char kind)
{
	return kind == KIND_HARD_LINK || kind == KIND_SYMBOLIC_LINK;
}

static int take_entry(struct layer *l, struct entry *e, struct fail *f)
{
	take_name(&l->name, l->block, F_NAME);
	if (is_link(e->kind))
		take_name(&l->link, l->block, F_LINK);
	else
		buf_reset(&l->link);
	const char *name = buf_str(&l->name), *link = buf_str(&l->link);
	if (check(l, e, name, link, f) < 0 || put_entry(l, e, name, link, f) < 0)
		return -1;
	buf_reset(&l->name);
	buf_reset(&l->link);
	l->long_to = NULL;
	return 0;
}

static int take_header(struct layer *l, struct fail *f)
{
	struct entry e = { .kind = (char)l->block[AT_TYPE] };
	if (!e.kind)
		e.kind = KIND_FILE;
	if (!sum_is_right(l->block) || read_number(l->block, F_MODE, &e.mode) < 0 ||
	    read_number(l->block, F_SIZE, &e.size) < 0 || read_number(l->block, F_MTIME, &e.mtime) < 0)
		return refuse(f, "is damaged");
	uint64_t size = e.size;
	if (e.kind == KIND_LONG_NAME || e.kind == KIND_LONG_LINK) {
		l->long_to = e.kind == KIND_LONG_NAME ? &l->name : &l->link;
		buf_reset(l->long_to);
		if (!size || size > NAME_MAX_BYTES)
			return refuse(f, "has a name that is too long");
	} else if (e.kind == KIND_FILE || e.kind == KIND_FOLDER || is_link(e.kind)) {
		if ((e.kind != KIND_FILE && size) || take_entry(l, &e, f) < 0)
			return f->kind ? -1 : refuse(f, "is damaged");
	} else {
		return refuse(f, "has a file that is not a regular one");
	}
	l->data = size;
	l->padding = (BLOCK - size % BLOCK) % BLOCK;
	return 0;
}

static int take_block(struct layer *l, struct fail *f)
{
	static const uint8_t zeros[BLOCK];
	if (memcmp(l->block, zeros, BLOCK) != 0) {
		l->zeros = 0;
		return take_header(l, f);
	}
	if (++l->zeros < 2)
		return 0;
	for (int i = 0; i < 2; i++)
		if (put(l, zeros, BLOCK, f) < 0)
			return -1;
	l->complete = true;
	return 0;
}

/* Returns how many bytes belong to the current entry, or -1. */
static ssize_t take_data(struct layer *l, const uint8_t *p, size_t n, struct fail *f)
{
	size_t some = (size_t)MIN((uint64_t)n, l->data ? l->data : l->padding);
	if (l->long_to) {
		if (l->data && buf_add(l->long_to, p, some) < 0)
			return refuse(f, "has a name that is too long");
	} else if (put(l, p, some, f) < 0) {
		return -1;
	}
	*(l->data ? &l->data : &l->padding) -= some;
	return (ssize_t)some;
}

int layer_add(struct layer *l, const void *data, size_t n, struct fail *f)
{
	const uint8_t *p = data, *end = p + n;
	/* tar fills its last record with zeros. */
	while (p < end && !l->complete) {
		if (l->data || l->padding) {
			ssize_t used = take_data(l, p, (size_t)(end - p), f);
			if (used < 0)
				return -1;
			p += used;
			continue;
		}
		size_t some = MIN(BLOCK - l->have, (size_t)(end - p));
		memcpy(l->block + l->have, p, some);
		l->have += some;
		p += some;
		if (l->have < BLOCK)
			break;
		l->have = 0;
		if (take_block(l, f) < 0)
			return -1;
	}
	return 0;
}
