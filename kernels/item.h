/* One name of a directory in an ITEM frame, from PID 1 (docs/protocol.md). Names and targets are bytes. PID 1 writes
 * it and the manager checks it, with these functions. */
#ifndef HUSK_KERNELS_ITEM_H
#define HUSK_KERNELS_ITEM_H

#include "kernels/entry.h"

enum item_type {
	ITEM_FILE = ENTRY_FILE,
	ITEM_DIRECTORY = ENTRY_DIRECTORY,
	ITEM_SYMLINK = ENTRY_SYMLINK,
	ITEM_OTHER = 5, /* a pipe, a socket or a device */
};

#define ITEM_FIXED 28u
#define ITEM_MODE_MASK 07777u
/* A tag changes whenever the file does. Only PID 1 knows its meaning. */
#define ITEM_TAG_MAX 80u
#define ITEM_BYTES_MAX (ITEM_FIXED + ITEM_TAG_MAX + ENTRY_NAME_MAX + ENTRY_PATH_MAX)

struct item {
	enum item_type type;
	uint32_t mode;
	int64_t mtime;
	uint32_t mtime_ns;
	uint64_t size; /* of a file; else 0 */
	/* None of these is NUL-terminated. */
	const char *tag;
	size_t tag_len;
	const char *name; /* "" = the path of the request itself */
	size_t name_len;
	const char *target; /* of a symbolic link */
	size_t target_len;
};

/* True if the text can be a tag: lower-case hexadecimal digits and hyphens. */
static inline bool item_tag_valid(const char *tag, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!(tag[i] >= '0' && tag[i] <= '9') && !(tag[i] >= 'a' && tag[i] <= 'f') && tag[i] != '-')
			return false;
	return n > 0 && n <= ITEM_TAG_MAX;
}

static inline bool item_valid(const struct item *it)
{
	if ((it->type < ITEM_FILE || it->type > ITEM_SYMLINK) && it->type != ITEM_OTHER)
		return false;
	if (it->mtime_ns >= 1000000000 || it->mode > ITEM_MODE_MASK ||
	    it->size > (it->type == ITEM_FILE ? INT64_MAX : 0))
		return false;
	if (it->type == ITEM_SYMLINK ? !it->target_len || it->target_len > ENTRY_PATH_MAX : it->target_len > 0)
		return false;
	if (!entry_path_valid(it->name, it->name_len) || (it->name_len && memchr(it->name, '/', it->name_len)))
		return false;
	return item_tag_valid(it->tag, it->tag_len) && !(it->target_len && memchr(it->target, 0, it->target_len));
}

/* Appends the payload of an ITEM frame. */
static inline void item_write(struct buf *out, const struct item *it)
{
	uint8_t fixed[ITEM_FIXED];
	entry_put_number(fixed, 1, (uint64_t)it->type);
	entry_put_number(fixed + 1, 2, it->mode & ITEM_MODE_MASK);
	entry_put_number(fixed + 3, 8, (uint64_t)it->mtime);
	entry_put_number(fixed + 11, 4, it->mtime_ns);
	entry_put_number(fixed + 15, 8, it->size);
	entry_put_number(fixed + 23, 1, it->tag_len);
	entry_put_number(fixed + 24, 2, it->name_len);
	entry_put_number(fixed + 26, 2, it->target_len);
	(void)buf_add(out, fixed, sizeof(fixed));
	(void)buf_add(out, it->tag, it->tag_len);
	(void)buf_add(out, it->name, it->name_len);
	(void)buf_add(out, it->target, it->target_len);
}

/* False if the payload is not an item. *ret points into the payload. */
static inline bool item_read(const uint8_t *payload, size_t n, struct item *ret)
{
	if (n < ITEM_FIXED)
		return false;
	*ret = (struct item){
		.type = (enum item_type)payload[0],
		.mode = (uint32_t)entry_get_number(payload + 1, 2),
		.mtime = (int64_t)entry_get_number(payload + 3, 8),
		.mtime_ns = (uint32_t)entry_get_number(payload + 11, 4),
		.size = entry_get_number(payload + 15, 8),
		.tag_len = payload[23],
		.name_len = (size_t)entry_get_number(payload + 24, 2),
		.target_len = (size_t)entry_get_number(payload + 26, 2),
	};
	if (n != ITEM_FIXED + ret->tag_len + ret->name_len + ret->target_len)
		return false;
	ret->tag = (const char *)payload + ITEM_FIXED;
	ret->name = ret->tag + ret->tag_len;
	ret->target = ret->name + ret->name_len;
	return item_valid(ret);
}

#endif
