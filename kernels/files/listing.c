#include "kernels/files/listing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

#include "base/alloc.h"
#include "kernels/files/beneath.h"
#include "kernels/files/import.h"
#include "kernels/files/place.h"
#include "kernels/protocol.h"

struct listing {
	DIR *dir;
	bool is_root; /* a writable directory, which may contain staging directories */
	char *after;
	size_t limit;
	char **names; /* the smallest names so far, a heap with the largest first; sorted once all names were seen */
	size_t n, next;
	uint64_t total, beyond; /* all names; names after `after` */
	bool seen_all;
	size_t bytes; /* of frames */
};

int listing_new(const char *path, const char *after, size_t limit, struct listing **ret)
{
	AUTO(place_release) struct place place = { .parent = -1 };
	int r = place_find(&place, path);
	if (r < 0)
		return r;
	AUTO(closep) int fd = beneath_open(place.parent, place.name, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return fd;
	DIR *dir = fdopendir(fd);
	if (!dir)
		return -errno;
	(void)take_fd(fd);
	struct listing *l = new0(struct listing);
	l->dir = dir;
	l->is_root = !*place.name;
	l->after = xstrdup(after);
	l->limit = limit;
	l->names = xcalloc(limit, sizeof(*l->names));
	*ret = l;
	return 0;
}

struct listing *listing_free(struct listing *l)
{
	if (!l)
		return NULL;
	closedir(l->dir);
	for (size_t i = 0; i < l->n; i++)
		free(l->names[i]);
	free((void *)l->names);
	free(l->after);
	free(l);
	return NULL;
}

void listing_describe(const struct listing *l, json_t *end)
{
	json_object_set_new(end, "total", json_integer((json_int_t)l->total));
	if (l->beyond > l->n || l->next < l->n)
		json_object_set_new(end, "more", json_true());
}

/* ---- the names */

static void swap(char **a, char **b)
{
	char *old = *a;
	*a = *b;
	*b = old;
}

/* Moves the name at `i` down until no name below it is larger. */
static void sift_down(struct listing *l, size_t i)
{
	for (size_t child; (child = 2 * i + 1) < l->n; i = child) {
		if (child + 1 < l->n && strcmp(l->names[child + 1], l->names[child]) > 0)
			child++;
		if (strcmp(l->names[i], l->names[child]) >= 0)
			return;
		swap(&l->names[i], &l->names[child]);
	}
}

static void sift_up(struct listing *l, size_t i)
{
	for (; i && strcmp(l->names[i], l->names[(i - 1) / 2]) > 0; i = (i - 1) / 2)
		swap(&l->names[i], &l->names[(i - 1) / 2]);
}

static void keep(struct listing *l, const char *name)
{
	l->beyond++;
	if (l->n < l->limit) {
		l->names[l->n++] = xstrdup(name);
		sift_up(l, l->n - 1);
	} else if (strcmp(name, l->names[0]) < 0) {
		free(l->names[0]);
		l->names[0] = xstrdup(name);
		sift_down(l, 0);
	}
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_hidden(const struct listing *l, const char *name)
{
	return streq(name, ".") || streq(name, "..") ||
	       (l->is_root && strncmp(name, IMPORT_STAGE_PREFIX, strlen(IMPORT_STAGE_PREFIX)) == 0);
}

static int read_name(struct listing *l)
{
	errno = 0;
	const struct dirent *d = readdir(l->dir);
	if (!d && errno)
		return -errno;
	if (!d) {
		l->seen_all = true;
		qsort((void *)l->names, l->n, sizeof(*l->names), compare);
		return 0;
	}
	if (is_hidden(l, d->d_name))
		return 0;
	if (++l->total > FILE_NAMES_MAX)
		return -E2BIG;
	if (strcmp(d->d_name, l->after) > 0)
		keep(l, d->d_name);
	return 0;
}

/* ---- the items */

static int put_directory(struct listing *l, uint32_t call, struct buf *out)
{
	struct stat st;
	if (fstat(dirfd(l->dir), &st) < 0)
		return -errno;
	return place_put_item(out, call, &st, "", /* dir= */ -1, "");
}

static int put_name(struct listing *l, uint32_t call, struct buf *out)
{
	const char *name = l->names[l->next++];
	struct stat st;
	int r = fstatat(dirfd(l->dir), name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
	if (r == 0)
		r = place_put_item(out, call, &st, name, dirfd(l->dir), name);
	/* The name was removed or replaced after it was read. */
	return r == -ENOENT || r == -EINVAL ? 0 : r;
}

int listing_step(struct listing *l, uint32_t call, int steps, struct buf *out)
{
	size_t before = out->len;
	int r = 0;
	while (r == 0 && !l->seen_all && steps-- > 0)
		r = read_name(l);
	if (r == 0 && l->seen_all && !l->bytes)
		r = put_directory(l, call, out);
	const size_t room = FILE_WINDOW - ITEM_BYTES_MAX - FRAME_HEADER_SIZE;
	while (r == 0 && l->seen_all && l->next < l->n && steps-- > 0 && l->bytes + out->len - before < room)
		r = put_name(l, call, out);
	l->bytes += out->len - before;
	if (r < 0)
		return r;
	return !l->seen_all || (l->next < l->n && l->bytes < room);
}
