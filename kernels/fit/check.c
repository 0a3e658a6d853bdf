#include <unistd.h>

#include "base/alloc.h"
#include "kernels/fit/fit.h"

#define LACKS_MAX 50
#define LACKS "lacks "
#define NO_INSTALLER "no-installer "

static const json_t *section(const struct fit *f)
{
	return json_object_get(f->manifest, "fit");
}

/* Copies the words of a command and looks up the first, its program. 0, or -1 if there is no such program. */
static int command(const struct fit *f, const json_t *words, struct strv *ret)
{
	size_t i;
	json_t *word;
	json_array_foreach((json_t *)words, i, word) {
		const char *text = json_string_value(word);
		AUTO(freep) char *found = i == 0 && text ? fit_find(f, text) : NULL;
		if (!text || (i == 0 && !found))
			return -1;
		strv_add(ret, found ? found : text);
	}
	return ret->n ? 0 : -1;
}

static void add_lack(struct fit *f, const char *text)
{
	if (f->lacks.n < LACKS_MAX && strv_find(&f->lacks, text) == SIZE_MAX)
		strv_add(&f->lacks, text);
}

/* Reads lines "lacks …" and "no-installer …"; other output is for people. */
static void read_findings(struct fit *f, char *text)
{
	for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
		if (strncmp(line, LACKS, strlen(LACKS)) == 0)
			add_lack(f, line + strlen(LACKS));
		else if (strncmp(line, NO_INSTALLER, strlen(NO_INSTALLER)) == 0 && !f->no_installer)
			f->no_installer = xstrdup(line + strlen(NO_INSTALLER));
	}
}

/* The last line that is not empty. */
static const char *last_words(char *text)
{
	size_t n = strlen(text);
	while (n && (text[n - 1] == '\n' || text[n - 1] == ' '))
		text[--n] = '\0';
	const char *line = strrchr(text, '\n');
	return line ? line + 1 : text;
}

/* Runs one of the runtime's steps, a program in the runtime's own language. */
static void run_step(struct fit *f, const char *step, bool as_sandbox)
{
	AUTO(strv_release) struct strv argv = { 0 };
	AUTO(freep) char *text = NULL;
	if (command(f, json_object_get(section(f), step), &argv) < 0)
		return;
	int r = fit_run(f, strv_argv(&argv), as_sandbox, &text);
	AUTO(freep) char *kept = xstrdup(text ? text : "");
	size_t before = f->lacks.n;
	read_findings(f, text);
	if (r < 0 && f->lacks.n == before) {
		const char *words = last_words(kept);
		AUTO(freep) char *lack = xasprintf("a %s that runs as user 65532 (%s)", f->interpreter,
						   *words ? words : "it printed nothing");
		add_lack(f, lack);
	}
}

void fit_check(struct fit *f)
{
	const char *name = json_string_value(json_object_get(section(f), "interpreter"));
	AUTO(freep) char *bash = fit_place(f, "/bin/bash");
	if (!name) {
		add_lack(f, "a runtime that supports other images than its own");
		return;
	}
	if (access(bash, X_OK) < 0)
		add_lack(f, "/bin/bash");
	f->interpreter = fit_find(f, name);
	if (!f->interpreter) {
		AUTO(freep) char *lack = xasprintf("%s on its PATH (%s)", name, f->path);
		add_lack(f, lack);
		return;
	}
	AUTO(strv_release) struct strv kernel = { 0 };
	if (command(f, json_object_get(section(f), "kernel"), &kernel) < 0)
		add_lack(f, "the command that starts the interpreter");
	run_step(f, "check", /* as_sandbox= */ true);
}

void fit_prepare(struct fit *f)
{
	run_step(f, "prepare", /* as_sandbox= */ false);
}
