#include "kernels/jupyter/spec.h"

#include <jansson.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"

void spec_release(struct spec *s)
{
	strv_release(&s->argv);
	strv_release(&s->env);
	free(take_ptr(s->folder));
}

/* Returns a copy of `text` in which each NAME between `open` and "}" is replaced by the result of the lookup, or left
 * unchanged if that is NULL. */
static char *substitute(const char *text, const char *open, const char *(*look_up)(const char *name, const void *ctx),
			const void *ctx)
{
	AUTO(buf_release) struct buf out = { 0 };
	const char *at;
	while ((at = strstr(text, open))) {
		const char *name_at = at + strlen(open), *end = strchr(name_at, '}');
		if (!end)
			break;
		AUTO(freep) char *name = xstrndup(name_at, (size_t)(end - name_at));
		const char *value = look_up(name, ctx);
		(void)buf_add(&out, text, (size_t)(at - text));
		if (value)
			(void)buf_add_str(&out, value);
		else
			(void)buf_add(&out, at, (size_t)(end + 1 - at));
		text = end + 1;
	}
	(void)buf_add_str(&out, text);
	return buf_steal_str(&out);
}

static const char *look_up_env(const char *name, const void *ctx)
{
	return getenv(name);
}

struct names {
	const char *connection_file;
	const char *resource_dir;
};

static const char *look_up_name(const char *name, const void *ctx)
{
	const struct names *names = ctx;
	if (streq(name, "connection_file"))
		return names->connection_file;
	return streq(name, "resource_dir") ? names->resource_dir : NULL;
}

static int read_spec(struct spec *s, const char *file, struct fail *f)
{
	json_error_t error;
	json_auto_t *root = json_load_file(file, 0, &error);
	const char *mode = "signal", *name;
	json_t *argv, *env = NULL, *value;
	size_t i;
	if (!root)
		return fail_set(f, FAIL_INVALID, "%s: line %d: %s", file, error.line, error.text);
	if (json_unpack_ex(root, &error, 0, "{s:o, s?s, s?o}", "argv", &argv, "interrupt_mode", &mode, "env", &env) < 0)
		return fail_set(f, FAIL_INVALID, "%s: %s", file, error.text);
	json_array_foreach(argv, i, value) {
		if (!json_is_string(value))
			return fail_set(f, FAIL_INVALID, "%s: 'argv' holds something that is not a string", file);
		strv_add(&s->argv, json_string_value(value));
	}
	if (!s->argv.n)
		return fail_set(f, FAIL_INVALID, "%s: 'argv' must be a list of strings", file);
	json_object_foreach(env, name, value) {
		if (!json_is_string(value) || !*name || strchr(name, '='))
			return fail_set(f, FAIL_INVALID, "%s: 'env' must map names to strings", file);
		AUTO(freep) char *full = substitute(json_string_value(value), "${", look_up_env, /* ctx= */ NULL);
		strv_addf(&s->env, "%s=%s", name, full);
	}
	s->interrupt_by_message = streq(mode, "message");
	return 0;
}

int spec_load(struct spec *ret, const char *path, struct fail *f)
{
	struct stat st;
	*ret = (struct spec){ 0 };
	if (stat(path, &st) < 0)
		return fail_set(f, FAIL_INVALID, "cannot find the kernelspec '%s': %m", path);
	const char *slash = strrchr(path, '/');
	if (S_ISDIR(st.st_mode))
		ret->folder = xstrdup(path);
	else
		ret->folder = slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup(".");
	AUTO(freep) char *file = S_ISDIR(st.st_mode) ? xasprintf("%s/kernel.json", path) : xstrdup(path);
	return read_spec(ret, file, f);
}

void spec_command(const struct spec *s, const char *connection_file, struct strv *ret)
{
	struct names names = { connection_file, s->folder };
	for (size_t i = 0; i < s->argv.n; i++) {
		AUTO(freep) char *word = substitute(s->argv.v[i], "{", look_up_name, &names);
		strv_add(ret, word);
	}
}
