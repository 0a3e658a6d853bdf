#include "kernels/disk/unlinked.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "kernels/protocol.h"

#define BLOCK 512
#define SLOTS_MIN 256u
/* Beyond this a file that is open twice counts twice: a session with so many open unlinked files hides something. */
#define SEEN_MAX 32768u
/* Bytes of one process's maps that are read: about 10,000 mappings. */
#define MAPS_MAX (1u << 20)
/* The cost of reading the files of one process, counted in names. */
#define PROCESS_STEPS 40

static uint64_t *slot_of(uint64_t *seen, size_t slots, uint64_t inode)
{
	size_t i = (size_t)(inode * 0x9e3779b97f4a7c15ull >> 32) & (slots - 1);
	while (seen[i] && seen[i] != inode)
		i = (i + 1) & (slots - 1);
	return &seen[i];
}

static void grow(struct unlinked_walk *w)
{
	size_t slots = w->slots ? 2 * w->slots : SLOTS_MIN;
	uint64_t *seen = xcalloc(slots, sizeof(*seen));
	for (size_t i = 0; i < w->slots; i++)
		if (w->seen[i])
			*slot_of(seen, slots, w->seen[i]) = w->seen[i];
	free(w->seen);
	w->seen = seen;
	w->slots = slots;
}

static bool is_new(struct unlinked_walk *w, uint64_t inode)
{
	if (w->n_seen >= SEEN_MAX)
		return true;
	if (2 * w->n_seen >= w->slots)
		grow(w);
	uint64_t *slot = slot_of(w->seen, w->slots, inode);
	if (*slot)
		return false;
	*slot = inode;
	w->n_seen++;
	return true;
}

int unlinked_begin(struct unlinked_walk *w, dev_t device)
{
	*w = (struct unlinked_walk){ .device = device, .processes = opendir("/proc") };
	return w->processes ? 0 : -errno;
}

void unlinked_end(struct unlinked_walk *w)
{
	if (w->fds)
		closedir(w->fds);
	if (w->processes)
		closedir(w->processes);
	free(w->seen);
	*w = (struct unlinked_walk){
		.bytes = w->bytes,
		.written = w->written,
		.in_flight = w->in_flight,
		.secretive = w->secretive,
		.partial = w->partial,
	};
}

/* ---- one process */

static ssize_t read_file(const char *pid, const char *name, char *text, size_t size)
{
	char path[128];
	(void)snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
	AUTO(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t n = 0;
	ssize_t got = fd < 0 ? -errno : 1;
	while (got > 0 && n < size - 1) {
		got = read(fd, text + n, size - 1 - n);
		n += got > 0 ? (size_t)got : 0;
	}
	text[n] = '\0';
	return got < 0 && !n ? got : (ssize_t)n;
}

static uint64_t number_after(const char *text, const char *label)
{
	const char *at = strstr(text, label);
	return at ? strtoull(at + strlen(label), NULL, 10) : 0;
}

/* True for the manager's attach, which writes nothing. Any other process that cannot be examined has made itself
 * undumpable. */
static bool is_attach(const char *pid)
{
	char text[1024];
	return read_file(pid, "status", text, sizeof(text)) > 0 && number_after(text, "\nUid:\t") == CONTROLLER_UID;
}

bool unlinked_parse_map(const char *line, dev_t device, uint64_t *ret_inode, uint64_t *ret_bytes)
{
	unsigned long long start, end, inode;
	unsigned major_number, minor_number;
	size_t n = strcspn(line, "\n");
	static const char mark[] = " (deleted)";
	if (n < sizeof(mark) || memcmp(line + n - (sizeof(mark) - 1), mark, sizeof(mark) - 1) != 0 ||
	    sscanf(line, "%llx-%llx %*s %*x %x:%x %llu", &start, &end, &major_number, &minor_number, &inode) != 5 ||
	    end < start || makedev(major_number, minor_number) != device)
		return false;
	*ret_inode = inode;
	*ret_bytes = end - start;
	return true;
}

static void count_maps(struct unlinked_walk *w)
{
	AUTO(freep) char *text = xmalloc(MAPS_MAX);
	ssize_t n = read_file(w->place, "maps", text, MAPS_MAX);
	if (n <= 0)
		return;
	w->partial |= n == MAPS_MAX - 1;
	for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL) {
		uint64_t inode, bytes;
		if (!unlinked_parse_map(line, w->device, &inode, &bytes) || !is_new(w, inode))
			continue;
		w->bytes += bytes;
		w->partial = true;
	}
}

static void count_unlinked(struct unlinked_walk *w, const struct stat *st)
{
	if (st->st_nlink == 0 && st->st_dev == w->device && is_new(w, st->st_ino))
		w->bytes += (uint64_t)st->st_blocks * BLOCK;
}

/* An unlinked file may be a running program, and an unlinked directory the working directory of a process. */
static void count_links(struct unlinked_walk *w)
{
	static const char *const links[] = { "exe", "cwd" };
	char path[128];
	struct stat st;
	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		(void)snprintf(path, sizeof(path), "/proc/%s/%s", w->place, links[i]);
		if (stat(path, &st) == 0)
			count_unlinked(w, &st);
	}
}

/* When the first thread of a process has ended, /proc/PID shows neither descriptors nor mappings. The other
 * threads share them (kernels/guard/guard.h) and still show them. */
static void find_place(struct unlinked_walk *w)
{
	char path[64], text[16];
	(void)snprintf(w->place, sizeof(w->place), "%s", w->pid);
	if (read_file(w->place, "maps", text, sizeof(text)) > 0)
		return;
	(void)snprintf(path, sizeof(path), "/proc/%s/task", w->pid);
	DIR *tasks = opendir(path);
	for (const struct dirent *d; tasks && (d = readdir(tasks));) {
		if (d->d_name[0] == '.')
			continue;
		(void)snprintf(w->place, sizeof(w->place), "%s/task/%.16s", w->pid, d->d_name);
		if (read_file(w->place, "maps", text, sizeof(text)) > 0)
			break;
	}
	if (tasks)
		closedir(tasks);
}

/* PID 1 writes nothing that is not counted, so only descriptors that were sent to it and not yet received matter. */
static void enter_process(struct unlinked_walk *w, const char *pid)
{
	char text[1024], path[64];
	(void)snprintf(w->pid, sizeof(w->pid), "%s", pid);
	if (streq(pid, "1")) {
		(void)snprintf(w->place, sizeof(w->place), "1");
		w->fds = opendir("/proc/1/fd");
		return;
	}
	ssize_t n = read_file(pid, "io", text, sizeof(text));
	if (n == -EACCES || n == -EPERM)
		w->secretive |= !is_attach(pid);
	if (n <= 0)
		return;
	w->written += number_after(text, "\nwrite_bytes: ");
	find_place(w);
	count_links(w);
	(void)snprintf(path, sizeof(path), "/proc/%s/fd", w->place);
	w->fds = opendir(path);
}

static void count_fd(struct unlinked_walk *w, const char *name)
{
	struct stat st;
	char path[64], text[512];
	if (fstatat(dirfd(w->fds), name, &st, 0) < 0)
		return;
	if (S_ISSOCK(st.st_mode)) {
		(void)snprintf(path, sizeof(path), "fdinfo/%.16s", name);
		if (read_file(w->place, path, text, sizeof(text)) > 0)
			w->in_flight += number_after(text, "\nscm_fds: ");
	} else if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) {
		count_unlinked(w, &st);
	}
}

/* Mappings come last: by then all blocks of a file that is also open have been counted. */
static void leave_process(struct unlinked_walk *w)
{
	closedir(take_ptr(w->fds));
	if (!streq(w->pid, "1"))
		count_maps(w);
}

bool unlinked_step(struct unlinked_walk *w, int steps)
{
	while (w->processes && steps > 0) {
		const struct dirent *d = readdir(w->fds ? w->fds : w->processes);
		if (d && w->fds) {
			count_fd(w, d->d_name);
			steps--;
		} else if (w->fds) {
			leave_process(w);
		} else if (!d) {
			unlinked_end(w);
		} else if (d->d_name[0] >= '1' && d->d_name[0] <= '9') {
			enter_process(w, d->d_name);
			steps -= PROCESS_STEPS;
		}
	}
	return w->processes != NULL;
}
