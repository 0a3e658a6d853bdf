#include "kernels/runs/keep.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "kernels/guard/spawn.h"

#define FILE_NAME_SIZE 24

void keeps_release(struct keeps *all)
{
	free(all->files);
	*all = (struct keeps){ .home = all->home };
}

/* Opens ~/.husk/runs, created if it is missing; -1 if something else has that name. */
static int open_folder(const struct keeps *all)
{
	static const char *const names[] = { ".husk", "runs" };
	int dir = open(all->home ? all->home : SPAWN_HOME, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	for (size_t i = 0; dir >= 0 && i < ARRAY_LEN(names); i++) {
		(void)mkdirat(dir, names[i], 0700);
		int next = openat(dir, names[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		close(dir);
		dir = next;
	}
	return dir;
}

static void name_file(char name[static FILE_NAME_SIZE], uint32_t number)
{
	snprintf(name, FILE_NAME_SIZE, "%u.txt", number);
}

/* Removes the oldest files until n more bytes fit; the last file is the one that is being written. */
static void make_room(struct keeps *all, uint64_t n)
{
	AUTO(closep) int dir = -1;
	while (all->n > 1 && all->bytes + n > KEEP_ALL_MAX) {
		char name[FILE_NAME_SIZE];
		name_file(name, all->files[0].number);
		if (dir < 0)
			dir = open_folder(all);
		if (dir >= 0)
			(void)unlinkat(dir, name, 0);
		all->bytes -= all->files[0].bytes;
		memmove(all->files, all->files + 1, --all->n * sizeof(*all->files));
	}
}

bool keep_open(struct keep *k, struct keeps *all, uint32_t number)
{
	char name[FILE_NAME_SIZE];
	struct stat st;
	AUTO(closep) int dir = open_folder(all);
	name_file(name, number);
	k->cut = true;
	if (dir < 0)
		return false;
	/* Removes a file of that name, which PID 1 did not write. */
	(void)unlinkat(dir, name, 0);
	AUTO(closep) int fd =
		openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	*k = (struct keep){ .all = all, .number = number, .fd = take_fd(fd) };
	all->files = xrealloc(all->files, (all->n + 1) * sizeof(*all->files));
	all->files[all->n++] = (struct kept){ .number = number };
	return true;
}

/* The entry of the run's file; NULL once the file was removed to make room. */
static struct kept *entry_of(const struct keep *k)
{
	for (size_t i = 0; k->all && i < k->all->n; i++)
		if (k->all->files[i].number == k->number)
			return &k->all->files[i];
	return NULL;
}

bool keep_is_there(const struct keep *k)
{
	return entry_of(k) != NULL;
}

void keep_write(struct keep *k, const void *data, size_t n)
{
	const uint8_t *at = data;
	size_t left = MIN(n, (size_t)(KEEP_RUN_MAX - k->bytes));
	if (k->fd < 0)
		return;
	make_room(k->all, left);
	struct kept *entry = entry_of(k);
	k->cut |= left < n || !entry;
	while (left && entry) {
		ssize_t written = write(k->fd, at, left);
		if (written <= 0) {
			k->cut = true;
			keep_close(k);
			return;
		}
		at += written;
		left -= (size_t)written;
		k->bytes += (uint64_t)written;
		k->all->bytes += (uint64_t)written;
		entry->bytes += (uint64_t)written;
	}
}

void keep_close(struct keep *k)
{
	closep(&k->fd);
}
