#include "manager/registry/owner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/alloc.h"
#include "base/dirs.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/proc.h"
#include "base/work.h"

#define PLACE_MAX 512
/* No lease is longer than a day, so older locks carry no information. */
#define LOCK_KEPT_SECONDS (2 * 86400)

/* The start time of a process; 0 = unknown. */
static uint64_t start_of(uint64_t pid)
{
	struct proc_stat st;
	return pid <= INT32_MAX && proc_stat((pid_t)pid, &st) == 0 ? st.start : 0;
}

/* "HOST BOOT PID-NAMESPACE", which is equal for all processes that can see each other. A boot or namespace that the
 * system does not provide is "-". */
static char *place_of_here(void)
{
	char host[256] = "", boot[PROC_BOOT_ID_SIZE], ns[64] = "";
	ssize_t n = readlink("/proc/self/ns/pid", ns, sizeof(ns) - 1);
	ns[MAX(n, 0)] = '\0';
	if (gethostname(host, sizeof(host) - 1) < 0 || !*host)
		snprintf(host, sizeof(host), "localhost");
	host[strcspn(host, " \n")] = '\0';
	proc_boot_id(boot);
	return xasprintf("%s %s %s", host, *boot ? boot : "-", *ns ? ns : "-");
}

void owner_init(struct owner *o, const char *advertise)
{
	AUTO(freep) char *here = place_of_here();
	*o = (struct owner){ .pid = (uint64_t)getpid(), .lock_fd = -1 };
	token_make(o->id);
	o->place = xasprintf("%s %llu%s%s", here, (unsigned long long)start_of(o->pid), advertise ? " " : "",
			     advertise ? advertise : "");
}

static char *lock_path(const struct config *config, const char *id)
{
	return xasprintf("%s/servers/%s.lock", config->state_dir, id);
}

int owner_lock(const struct config *config, const char *id, char **ret_path)
{
	char *path = *ret_path = lock_path(config, id);
	AUTO(freep) char *folder = xasprintf("%s/servers", config->state_dir);
	dirs_make(folder);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	log_warning("cannot lock '%s': %s; other servers can judge this one only by its lease", path, strerror(errno));
	/* A lock file that is not locked would mean that this server is dead. */
	if (fd >= 0)
		(void)unlink(path);
	closep(&fd);
	return -1;
}

void owner_announce(struct owner *o, char *path, int lock_fd)
{
	if (o->lock_path) {
		closep(&lock_fd);
		free(path);
		return;
	}
	o->lock_path = path;
	o->lock_fd = lock_fd;
}

void owner_release(struct owner *o, bool keep)
{
	if (o->lock_path && o->lock_fd >= 0 && !keep)
		(void)unlink(o->lock_path);
	closep(&o->lock_fd);
	free(o->lock_path);
	free(o->place);
	*o = (struct owner){ .lock_fd = -1 };
}

/* --- other servers ----------------------------------------------------------------------------------------------- */

/* True if no process holds the lock. */
static bool lock_is_free(int fd)
{
	return flock(fd, LOCK_SH | LOCK_NB) == 0;
}

static enum owner_life life_by_lock(const struct config *config, const char *id)
{
	if (!token_is_valid(id))
		return OWNER_UNKNOWN;
	AUTO(freep) char *path = lock_path(config, id);
	AUTO(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return OWNER_UNKNOWN;
	return lock_is_free(fd) ? OWNER_DEAD : errno == EWOULDBLOCK ? OWNER_ALIVE : OWNER_UNKNOWN;
}

static enum owner_life life_by_process(const struct owner_claim *claim)
{
	AUTO(freep) char *here = place_of_here();
	size_t n = strlen(here);
	uint64_t started = 0;
	AUTO(freep) char *start = NULL;
	/* Without a boot id the start time of a process is not unique. */
	if (strstr(here, " -") || !claim->place || strncmp(claim->place, here, n) != 0 || claim->place[n] != ' ')
		return OWNER_UNKNOWN;
	start = xstrndup(claim->place + n + 1, strcspn(claim->place + n + 1, " "));
	if (parse_u64(start, &started) < 0 || claim->pid == 0 || claim->pid > INT32_MAX)
		return OWNER_UNKNOWN;
	if (kill((pid_t)claim->pid, 0) < 0)
		return errno == ESRCH ? OWNER_DEAD : OWNER_ALIVE;
	return start_of(claim->pid) == started ? OWNER_ALIVE : OWNER_DEAD;
}

struct owner_claim owner_claim_of(const struct session_record *row)
{
	return (struct owner_claim){
		.id = row->owner, .place = row->owner_host, .pid = row->owner_pid, .lease_until = row->lease_until
	};
}

enum owner_life owner_life(const struct config *config, const struct owner_claim *claim)
{
	enum owner_life lock = life_by_lock(config, claim->id);
	if (lock == OWNER_DEAD)
		return OWNER_DEAD;
	enum owner_life process = life_by_process(claim);
	return process == OWNER_UNKNOWN ? lock : process;
}

bool owner_is_dead(const struct config *config, const struct owner_claim *claim, uint64_t now_ms)
{
	enum owner_life life = owner_life(config, claim);
	if (life != OWNER_UNKNOWN)
		return life == OWNER_DEAD;
	return claim->lease_until < now_ms + config->lease * 1000 / 4;
}

const char *owner_address(const struct owner_claim *claim)
{
	const char *at = claim->place;
	for (int words = 0; at && words < 4; words++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return at ? at : "";
}

char *owner_words(const struct owner_claim *claim)
{
	size_t host = claim->place ? strcspn(claim->place, " ") : 0;
	if (!host)
		return xasprintf("process %llu", (unsigned long long)claim->pid);
	return xasprintf("process %llu on %.*s", (unsigned long long)claim->pid, (int)MIN(host, (size_t)PLACE_MAX),
			 claim->place);
}

static void sweep_one(int folder, const char *name, time_t now)
{
	struct stat st;
	size_t n = strlen(name);
	if (n != TOKEN_SIZE - 1 + 5 || !streq(name + n - 5, ".lock"))
		return;
	AUTO(closep) int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) < 0 || now < st.st_mtime || now - st.st_mtime < LOCK_KEPT_SECONDS)
		return;
	if (lock_is_free(fd))
		(void)unlinkat(folder, name, 0);
}

void owner_sweep(const struct config *config)
{
	AUTO(freep) char *path = xasprintf("%s/servers", config->state_dir);
	DIR *folder = opendir(path);
	if (!folder)
		return;
	for (struct dirent *entry; (entry = readdir(folder));)
		sweep_one(dirfd(folder), entry->d_name, time(NULL));
	closedir(folder);
}

static void sweep_locks(void *ctx)
{
	struct config *config = ctx;
	owner_sweep(config);
}

static void on_swept(void *ctx, bool forgotten UNUSED)
{
	struct config *config = ctx;
	free(config->state_dir);
	free(config);
}

void owner_sweep_soon(struct loop *loop, const struct config *config)
{
	struct config *copy = new0(struct config);
	copy->state_dir = xstrdup(config->state_dir);
	(void)work_start(loop, &(struct work_spec){ .fn = sweep_locks, .on_done = on_swept, .ctx = copy });
}
