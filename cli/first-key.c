#include "cli/first-key.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#include "base/alloc.h"
#include "base/dirs.h"

#define KEY_MAX 256
#define FOLDER "serve"

struct first_key {
	struct first_key_request request;
	char *path;
	char text[KEY_MAX];
};

static void end(struct first_key *k, const char *key, const struct fail *f)
{
	k->request.on_done(k->request.ctx, key, k->path, f);
	explicit_bzero(k->text, sizeof(k->text));
	free(k->path);
	free(k);
}

static int write_key(const struct first_key *k, const char *key, struct fail *f)
{
	/* Another server may be starting at the same time. */
	AUTO(freep) char *fresh = xasprintf("%s.%d.new", k->path, (int)getpid());
	(void)unlink(fresh);
	AUTO(closep) int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	size_t n = strlen(key);
	if (fd < 0 || write(fd, key, n) != (ssize_t)n || write(fd, "\n", 1) != 1 || fsync(fd) < 0 ||
	    rename(fresh, k->path) < 0) {
		fail_set(f, FAIL_INTERNAL, "cannot write '%s': %s", k->path, strerror(errno));
		(void)unlink(fresh);
		return -1;
	}
	return 0;
}

static void on_added(void *ctx, const char *key, const struct key_info *info UNUSED, const struct fail *f)
{
	struct first_key *k = ctx;
	AUTO(fail_release) struct fail own = { 0 };
	if (key && write_key(k, key, &own) < 0)
		end(k, NULL, &own);
	else
		end(k, key, f);
}

static void add(struct first_key *k)
{
	AUTO(fail_release) struct fail f = { 0 };
	/* The names of earlier keys are taken, and servers in other containers, with the same pid, may be making theirs now. */
	uint64_t number = 0;
	if (getrandom(&number, sizeof(number), 0) < 0)
		number = (uint64_t)time(NULL);
	AUTO(freep) char *name = xasprintf("first-%llx", (unsigned long long)number);
	struct add_key_request request = {
		.name = name, .tenant = TENANT_LOCAL, .scopes = SCOPES_ALL, .own = true, .on_done = on_added, .ctx = k
	};
	if (!manager_add_key(k->request.manager, &request, &f))
		end(k, NULL, &f);
}

static void on_checked(void *ctx, const struct key_info *info, const struct fail *f)
{
	struct first_key *k = ctx;
	if (f)
		end(k, NULL, f);
	else if (info)
		end(k, k->text, NULL);
	else
		add(k);
}

static void read_key(struct first_key *k)
{
	AUTO(closep) int fd = open(k->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 077))
		return;
	ssize_t n = read(fd, k->text, sizeof(k->text) - 1);
	k->text[n > 0 ? n : 0] = '\0';
	k->text[strcspn(k->text, "\r\n")] = '\0';
}

void first_key_get(const struct first_key_request *request)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct first_key *k = new0(struct first_key);
	k->request = *request;
	AUTO(freep) char *folder = xasprintf("%s/" FOLDER, request->config->state_dir);
	k->path = xasprintf("%s/key", folder);
	int r = dirs_make(folder);
	if (r < 0) {
		fail_set(&f, FAIL_INTERNAL, "cannot create '%s': %s", folder, strerror(-r));
		end(k, NULL, &f);
		return;
	}
	read_key(k);
	if (!*k->text) {
		add(k);
		return;
	}
	struct check_key_request check = { .key = k->text, .on_done = on_checked, .ctx = k };
	if (!manager_check_key(request->manager, &check, &f))
		end(k, NULL, &f);
}
