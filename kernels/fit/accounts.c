#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "kernels/fit/fit.h"
#include "kernels/protocol.h"

#define ACCOUNTS_MAX (4u << 20)

static int read_all(const char *path, struct buf *text)
{
	AUTO(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	for (;;) {
		uint8_t *at = buf_reserve(text, 4096);
		ssize_t n = at ? read(fd, at, 4096) : -1;
		if (n <= 0)
			return n < 0 ? -EIO : 0;
		text->len += (size_t)n;
	}
}

/* True if a line of passwd or group has this number in its third field. */
static bool has_number(const char *text, unsigned number)
{
	AUTO(freep) char *wanted = xasprintf("%u", number);
	for (const char *line = text; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
		const char *field = line;
		for (int i = 0; i < 2 && field; i++) {
			field = strpbrk(field, ":\n");
			field = field && *field == ':' ? field + 1 : NULL;
		}
		if (field && strncmp(field, wanted, strlen(wanted)) == 0 && field[strlen(wanted)] == ':')
			return true;
	}
	return false;
}

static void add_user(struct buf *more, const char *text, unsigned uid, const char *name, const char *rest)
{
	if (!has_number(text, uid))
		buf_printf(more, "%s:x:%u:%d:%s\n", name, uid, SANDBOX_GID, rest);
}

static void append(struct fit *f, const char *inside, const char *text, const struct buf *more)
{
	AUTO(freep) char *path = fit_place(f, inside);
	AUTO(closep) int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	size_t n = strlen(text);
	const char *gap = n && text[n - 1] != '\n' ? "\n" : "";
	if (fd < 0 || dprintf(fd, "%s", gap) < 0 || write(fd, more->data, more->len) != (ssize_t)more->len)
		strv_addf(&f->lacks, "a %s that can be written (%s)", inside, strerror(errno));
}

static void add_users(struct fit *f)
{
	AUTO(buf_release) struct buf old = { .max = ACCOUNTS_MAX }, more = { 0 };
	AUTO(freep) char *path = fit_place(f, "/etc/passwd");
	static const char person[] = "Husk sandbox:/home/sandbox:/bin/bash";
	if (read_all(path, &old) < 0) {
		strv_add(&f->lacks, "an /etc/passwd that can be read");
		return;
	}
	const char *text = buf_str(&old);
	add_user(&more, text, SANDBOX_UID, "sandbox", person);
	for (unsigned uid = SESSION_UID_MIN; uid <= SESSION_UID_MAX; uid++)
		add_user(&more, text, uid, "sandbox", person);
	add_user(&more, text, CONTROLLER_UID, "husk", "Husk controller:/nonexistent:/usr/sbin/nologin");
	append(f, "/etc/passwd", text, &more);
}

static void add_group(struct fit *f)
{
	AUTO(buf_release) struct buf old = { .max = ACCOUNTS_MAX }, more = { 0 };
	AUTO(freep) char *path = fit_place(f, "/etc/group");
	if (read_all(path, &old) < 0) {
		strv_add(&f->lacks, "an /etc/group that can be read");
		return;
	}
	if (!has_number(buf_str(&old), SANDBOX_GID))
		buf_printf(&more, "sandbox:x:%d:\n", SANDBOX_GID);
	append(f, "/etc/group", buf_str(&old), &more);
}

/* Root runs without CAP_FOWNER here and can only change the mode of its own folders, so a folder with another owner
 * becomes root's first. This does no harm: sessions have their own mounts on /workspace, /tmp and their home
 * directory. */
static int set_mode(const struct fit *f, const char *path, mode_t mode)
{
	int r = chmod(path, mode);
	if (r < 0 && errno == EPERM && f->as_root && chown(path, 0, 0) == 0)
		r = chmod(path, mode);
	return r;
}

static void add_folder(struct fit *f, const char *inside, mode_t mode)
{
	AUTO(freep) char *path = fit_place(f, inside);
	if ((mkdir(path, mode) < 0 && errno != EEXIST) || set_mode(f, path, mode) < 0)
		strv_addf(&f->lacks, "a folder %s (%s)", inside, strerror(errno));
}

void fit_accounts(struct fit *f)
{
	add_folder(f, "/etc", 0755);
	add_users(f);
	add_group(f);
	add_folder(f, "/workspace", 0755);
	add_folder(f, "/tmp", 01777);
	add_folder(f, "/home", 01777); /* PID 1 creates /home/sandbox */
	add_folder(f, "/opt", 0755);
	add_folder(f, "/opt/husk", 0755);
	add_folder(f, DEPENDENCIES_PATH, 0755);
	/* Copying into the image loses the owner. */
	AUTO(freep) char *deps = fit_place(f, DEPENDENCIES_PATH);
	if (f->as_root && chown(deps, SANDBOX_UID, SANDBOX_GID) < 0)
		strv_addf(&f->lacks, "a folder " DEPENDENCIES_PATH " (%s)", strerror(errno));
}
