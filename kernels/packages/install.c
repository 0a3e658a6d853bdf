#include "kernels/packages/install.h"

#include <ftw.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/json.h"
#include "kernels/disk/usage.h"
#include "kernels/system/frames.h"

#define REPORT_MAX (256u << 10)
static uint64_t size_of(const char *path)
{
	AUTO(freep) struct usage_walk *walk = new0(struct usage_walk);
	if (usage_begin(walk, path) < 0)
		return 0;
	while (usage_step(walk, INT_MAX))
		continue;
	return walk->sum.bytes;
}

static int open_one(const char *path, const struct stat *st, int flag, struct FTW *where)
{
	mode_t readable = S_IRUSR | S_IRGRP | S_IROTH, mode = (st->st_mode & 0777) | readable;
	if (flag == FTW_SL || flag == FTW_SLN || flag == FTW_NS)
		return 0;
	if (S_ISDIR(st->st_mode))
		mode |= 0111;
	else if (st->st_mode & S_IXUSR)
		mode |= 0111;
	if (mode != (st->st_mode & 07777))
		(void)chmod(path, mode);
	return 0;
}

void install_open(void)
{
	(void)nftw(DEPENDENCIES_PATH, open_one, 64, FTW_PHYS | FTW_MOUNT);
}

/* Returns the folders of a PATH that belong to the image. The caller owns it. */
static char *safe_path(const char *path)
{
	static const char *const writable[] = { HOME_VOLUME "/", DEPENDENCIES_PATH "/", "/tmp/", "/workspace/",
						"/dev/" };
	AUTO(buf_release) struct buf kept = { 0 };
	for (const char *end; *path; path = *end ? end + 1 : end) {
		end = strchrnul(path, ':');
		AUTO(freep) char *folder = xasprintf("%.*s/", (int)(end - path), path);
		bool safe = *path == '/' && !strstr(folder, "/../");
		for (size_t i = 0; i < ARRAY_LEN(writable); i++)
			safe &= strncmp(folder, writable[i], strlen(writable[i])) != 0;
		if (!safe)
			continue;
		buf_add_str(&kept, kept.len ? ":" : "");
		buf_add(&kept, path, (size_t)(end - path));
	}
	return xstrdup(buf_str(&kept));
}

static bool is_late(const char *variable, const struct strv *late)
{
	size_t n = strcspn(variable, "=");
	for (size_t i = 0; i < late->n; i++)
		if (strlen(late->v[i]) == n && strncmp(variable, late->v[i], n) == 0)
			return true;
	return false;
}

void install_env(struct strv *ret, const struct strv *env, const struct strv *late)
{
	for (size_t i = 0; i < env->n; i++) {
		AUTO(freep) char *path =
			strncmp(env->v[i], "PATH=", 5) == 0 ? safe_path(env->v[i] + strlen("PATH=")) : NULL;
		if (path)
			strv_addf(ret, "PATH=%s", path);
		else if (!is_late(env->v[i], late))
			strv_add(ret, env->v[i]);
	}
	strv_set_env(ret, "HOME=/nonexistent");
	/* With this variable, husk_deps.py (runtimes/python) adds no packages: a .pth file of a package is code. */
	strv_set_env(ret, "HUSK_INSTALLED=1");
}

void install_spare_proxies(struct strv *env, const struct strv *names)
{
	static const char *const variables[] = { "NO_PROXY", "no_proxy" };
	for (size_t k = 0; names->n && k < ARRAY_LEN(variables); k++) {
		size_t len = strlen(variables[k]);
		AUTO(buf_release) struct buf value = { 0 };
		for (size_t i = 0; i < env->n; i++)
			if (strncmp(env->v[i], variables[k], len) == 0 && env->v[i][len] == '=') {
				buf_reset(&value);
				buf_add_str(&value, env->v[i] + len + 1);
			}
		for (size_t i = 0; i < names->n; i++)
			buf_printf(&value, "%s%s", value.len ? "," : "", names->v[i]);
		AUTO(freep) char *entry = xasprintf("%s=%s", variables[k], buf_str(&value));
		strv_set_env(env, entry);
	}
}

void install_report(struct run *run, int fd)
{
	AUTO(freep) char *data = xmalloc(REPORT_MAX);
	ssize_t n = pread(fd, data, REPORT_MAX, 0);
	json_auto_t *report = n > 0 ? json_loadb(data, (size_t)n, JSON_REJECT_DUPLICATES, NULL) : NULL;
	if (!json_is_object(report))
		return;
	AUTO(buf_release) struct buf text = { 0 };
	json_auto_t *result = json_pack("{s:{s:{s:O, s:I}}}", "data", "application/json", "versions", report, "size",
					(json_int_t)size_of(DEPENDENCIES_PATH));
	if (!result)
		return;
	json_print(&text, result);
	run_structured(run, FRAME_RESULT, text.data, text.len);
}
