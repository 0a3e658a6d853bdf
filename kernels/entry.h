/* One file, directory or link in an ENTRY frame, in either direction (docs/protocol.md). Names are bytes:
 * everything that Linux allows is allowed here. Both sides check what they read, with these functions. */
#ifndef HUSK_KERNELS_ENTRY_H
#define HUSK_KERNELS_ENTRY_H

#include "base/buf.h"

enum entry_type {
	ENTRY_FILE = 1,
	ENTRY_DIRECTORY = 2,
	ENTRY_SYMLINK = 3,
	ENTRY_LINK = 4, /* another name of an earlier file; only for a reader that supports links */
};

#define ENTRY_FIXED 27u
#define ENTRY_PATH_MAX 4095u
#define ENTRY_NAME_MAX 255u
#define ENTRY_DEPTH_MAX 64
#define ENTRY_MODE_MASK 0777u
/* Flag in the mode of a file: further names of the same file may follow. */
#define ENTRY_LINKED 0x8000u
/* At most this many files of one export, with this many bytes in their paths, have ENTRY_LINKED. Beyond that, each name
 * of a file is sent as a separate file. */
#define ENTRY_LINKED_MAX 65536u
#define ENTRY_LINKED_BYTES_MAX (4u << 20)

struct entry {
	enum entry_type type;
	uint32_t mode; /* permission bits */
	bool linked;   /* ENTRY_LINKED */
	int64_t mtime;
	uint32_t mtime_ns;
	uint64_t size; /* of a file */
	/* Relative to the root of the copy; "" = the root itself. Not NUL-terminated. */
	const char *path;
	size_t path_len;
	const char
		*target; /* target of a symbolic link, as stored; for another name, the path of the file's first name */
	size_t target_len;
};

static inline void entry_put_number(uint8_t *at, unsigned bytes, uint64_t value)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (uint8_t)(value >> (8 * (bytes - 1 - i)));
}

static inline uint64_t entry_get_number(const uint8_t *at, unsigned bytes)
{
	uint64_t value = 0;
	for (unsigned i = 0; i < bytes; i++)
		value = value << 8 | at[i];
	return value;
}

/* True if no component leads out of the copy or is too long, and there are not too many. "" is the root of the copy. */
static inline bool entry_path_valid(const char *path, size_t n)
{
	int depth = 0;
	if (n > ENTRY_PATH_MAX || (n && memchr(path, 0, n)))
		return false;
	for (size_t start = 0; n && start <= n;) {
		const char *slash = memchr(path + start, '/', n - start);
		size_t len = slash ? (size_t)(slash - path) - start : n - start;
		bool dots = len <= 2 && memcmp(path + start, "..", len) == 0; /* "", "." and ".." */
		if (dots || len > ENTRY_NAME_MAX || ++depth > ENTRY_DEPTH_MAX)
			return false;
		start += len + 1;
	}
	return true;
}

static inline bool entry_valid(const struct entry *e)
{
	bool has_target = e->type == ENTRY_SYMLINK || e->type == ENTRY_LINK;
	if (e->type < ENTRY_FILE || e->type > ENTRY_LINK || e->mtime_ns >= 1000000000)
		return false;
	if (e->type == ENTRY_FILE ? e->size > INT64_MAX : e->size != 0 || e->linked)
		return false;
	if (has_target ? e->target_len == 0 || e->target_len > ENTRY_PATH_MAX : e->target_len != 0)
		return false;
	if (e->type == ENTRY_LINK && (!e->path_len || !entry_path_valid(e->target, e->target_len)))
		return false;
	return entry_path_valid(e->path, e->path_len) && !(e->target_len && memchr(e->target, 0, e->target_len));
}

/* Appends the payload of an ENTRY frame. */
static inline void entry_write(struct buf *out, const struct entry *e)
{
	uint8_t fixed[ENTRY_FIXED];
	entry_put_number(fixed, 1, (uint64_t)e->type);
	entry_put_number(fixed + 1, 2, (e->mode & ENTRY_MODE_MASK) | (e->linked ? ENTRY_LINKED : 0));
	entry_put_number(fixed + 3, 8, (uint64_t)e->mtime);
	entry_put_number(fixed + 11, 4, e->mtime_ns);
	entry_put_number(fixed + 15, 8, e->size);
	entry_put_number(fixed + 23, 2, e->path_len);
	entry_put_number(fixed + 25, 2, e->target_len);
	(void)buf_add(out, fixed, sizeof(fixed));
	(void)buf_add(out, e->path, e->path_len);
	(void)buf_add(out, e->target, e->target_len);
}

/* False if the payload is not an entry. *ret points into the payload. */
static inline bool entry_read(const uint8_t *payload, size_t n, struct entry *ret)
{
	if (n < ENTRY_FIXED)
		return false;
	*ret = (struct entry){
		.type = (enum entry_type)payload[0],
		.mode = (uint32_t)entry_get_number(payload + 1, 2) & ENTRY_MODE_MASK,
		.linked = entry_get_number(payload + 1, 2) & ENTRY_LINKED,
		.mtime = (int64_t)entry_get_number(payload + 3, 8),
		.mtime_ns = (uint32_t)entry_get_number(payload + 11, 4),
		.size = entry_get_number(payload + 15, 8),
		.path_len = (size_t)entry_get_number(payload + 23, 2),
		.target_len = (size_t)entry_get_number(payload + 25, 2),
	};
	if (n != ENTRY_FIXED + ret->path_len + ret->target_len)
		return false;
	ret->path = (const char *)payload + ENTRY_FIXED;
	ret->target = ret->path + ret->path_len;
	return entry_valid(ret);
}

/* Number of bytes at the start of the path that mean the home directory: ~, $HOME or ${HOME}. 0 = none. */
static inline size_t entry_home(const char *path)
{
	static const char *const words[] = { "~", "$HOME", "${HOME}" };
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		size_t n = strlen(words[i]);
		if (strncmp(path, words[i], n) == 0 && (!path[n] || path[n] == '/'))
			return n;
	}
	return 0;
}

#endif
