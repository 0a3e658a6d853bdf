#include "kernels/cells/manifest.h"

#include <fcntl.h>
#include <jansson.h>
#include <signal.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/parse.h"

#define MANIFEST_MAX (64u << 10)

static const struct {
	const char *name;
	int signo;
} interrupts[] = { { "SIGINT", SIGINT }, { "SIGTERM", SIGTERM }, { "SIGUSR1", SIGUSR1 }, { "SIGUSR2", SIGUSR2 } };

void manifest_release(struct manifest *m)
{
	free(m->name);
	strv_release(&m->kernel);
	strv_release(&m->env);
	strv_release(&m->late);
	strv_release(&m->installer);
	strv_release(&m->installed);
	*m = (struct manifest){ 0 };
}

static int take_command(struct strv *to, const char *field, const json_t *command, struct fail *f)
{
	size_t i;
	json_t *arg;
	json_array_foreach(command, i, arg) {
		if (!json_is_string(arg))
			return fail_set(f, FAIL_INVALID, "runtime manifest: '%s' holds something that is not a string",
					field);
		strv_add(to, json_string_value(arg));
	}
	if (!to->n || to->v[0][0] != '/')
		return fail_set(f, FAIL_INVALID,
				"runtime manifest: '%s' must be a list that starts with an absolute path", field);
	return 0;
}

static int take_link(struct manifest *m, const char *link, struct fail *f)
{
	uint64_t port;
	if (!link || streq(link, "unix"))
		return 0;
	if (strncmp(link, "tcp:", 4) != 0 || parse_u64(link + 4, &port) < 0 || port < 1024 || port > 65535)
		return fail_set(f, FAIL_INVALID, "runtime manifest: 'link' must be \"unix\" or \"tcp:PORT\", not '%s'",
				link);
	m->tcp_port = (uint16_t)port;
	return 0;
}

static int take_interrupt(struct manifest *m, const char *name, struct fail *f)
{
	m->interrupt = SIGINT;
	if (!name)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(interrupts); i++) {
		if (!streq(name, interrupts[i].name))
			continue;
		m->interrupt = interrupts[i].signo;
		return 0;
	}
	return fail_set(f, FAIL_INVALID, "runtime manifest: unknown 'interrupt' '%s'", name);
}

static int take_env(struct manifest *m, json_t *env, struct fail *f)
{
	const char *name;
	json_t *value;
	json_object_foreach(env, name, value) {
		if (!json_is_string(value) || !*name || strchr(name, '='))
			return fail_set(f, FAIL_INVALID, "runtime manifest: 'env' must map names to strings");
		strv_addf(&m->env, "%s=%s", name, json_string_value(value));
	}
	return 0;
}

static int take_late(struct manifest *m, const json_t *late, struct fail *f)
{
	size_t i;
	json_t *name;
	json_array_foreach(late, i, name) {
		if (!json_string_length(name) || strchr(json_string_value(name), '='))
			return fail_set(f, FAIL_INVALID, "runtime manifest: 'late_env' must be a list of names");
		strv_add(&m->late, json_string_value(name));
	}
	return 0;
}

int manifest_parse(struct manifest *ret, const char *text, size_t n, struct fail *f)
{
	json_error_t error;
	json_auto_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
	const char *name, *link = NULL, *interrupt = NULL;
	json_t *kernel, *env = NULL, *late = NULL, *installer = NULL, *installed = NULL;
	*ret = (struct manifest){ 0 };
	if (!root)
		return fail_set(f, FAIL_INVALID, "runtime manifest: line %d: %s", error.line, error.text);
	if (json_unpack_ex(root, &error, 0, "{s:s, s:o, s?s, s?s, s?o, s?o, s?{s:o, s:o}}", "name", &name, "kernel",
			   &kernel, "link", &link, "interrupt", &interrupt, "env", &env, "late_env", &late, "installer",
			   "command", &installer, "installed", &installed) < 0)
		return fail_set(f, FAIL_INVALID, "runtime manifest: %s", error.text);
	ret->name = xstrdup(name);
	if (take_command(&ret->kernel, "kernel", kernel, f) < 0 || take_link(ret, link, f) < 0 ||
	    take_interrupt(ret, interrupt, f) < 0 || take_env(ret, env, f) < 0 || take_late(ret, late, f) < 0 ||
	    (installer && (take_command(&ret->installer, "installer", installer, f) < 0 ||
			   take_command(&ret->installed, "installed", installed, f) < 0))) {
		manifest_release(ret);
		return -1;
	}
	return 0;
}

int manifest_load(struct manifest *ret, const char *path, struct fail *f)
{
	AUTO(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	AUTO(buf_release) struct buf text = { .max = MANIFEST_MAX };
	*ret = (struct manifest){ 0 };
	if (fd < 0)
		return fail_set(f, FAIL_INVALID, "cannot open '%s': %m", path);
	for (;;) {
		uint8_t *at = buf_reserve(&text, 4096);
		if (!at)
			return fail_set(f, FAIL_INVALID, "'%s' is too long", path);
		ssize_t n = read(fd, at, 4096);
		if (n < 0)
			return fail_set(f, FAIL_INVALID, "cannot read '%s': %m", path);
		if (n == 0)
			return manifest_parse(ret, (const char *)text.data, text.len, f);
		text.len += (size_t)n;
	}
}
