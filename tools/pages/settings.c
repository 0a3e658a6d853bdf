/* docs/settings.md */
#include "manager/manager.h"
#include "tools/pages/pages.h"

struct writer {
	struct buf *out;
	enum setting_group group;
	bool begun;
};

static const char intro[] =
	"# Settings\n"
	"\n"
	"<!-- Written by `make pages` from manager/model/config-table.c. Change the table, not this page. -->\n"
	"\n"
	"Husk reads a setting from the first of these places that has it:\n"
	"\n"
	"1. the environment of `husk`;\n"
	"2. the settings file `$XDG_CONFIG_HOME/husk/.env`, or the one that `--env-file FILE` names;\n"
	"3. the encrypted settings of `husk config set NAME VALUE`, for all programs of this user;\n"
	"4. its default.\n"
	"\n"
	"A file in the working directory is never read. The settings file has one `NAME=value` per line; `#`\n"
	"starts a comment, and quotes around a value are dropped. An empty value counts as unset. Sizes take\n"
	"a unit of `b`, `k`, `m` or `g`. A bad value stops `husk` at its start, and the message names the\n"
	"setting. `husk config list` shows every setting, its value and where it comes from.\n";

/* Adds a cell of a table. A `|` in the text would start the next cell and is escaped. */
static void add_cell(struct buf *out, const char *text, bool code)
{
	buf_add_str(out, code ? " `" : " ");
	for (; *text; text++)
		buf_printf(out, *text == '|' ? "\\%c" : "%c", *text);
	buf_add_str(out, code ? "` |" : " |");
}

static void add_setting(void *ctx, const struct setting_text *s)
{
	struct writer *w = ctx;
	if (!w->begun || w->group != s->group)
		buf_printf(w->out, "\n## %s\n\n| setting | default | meaning | example |\n|---|---|---|---|\n",
			   setting_group_titles[s->group]);
	w->begun = true;
	w->group = s->group;
	buf_add_str(w->out, "|");
	add_cell(w->out, s->name, /* code= */ true);
	add_cell(w->out, s->fallback ? s->fallback : s->usual, /* code= */ s->fallback != NULL);
	add_cell(w->out, s->meaning, /* code= */ false);
	add_cell(w->out, s->example, /* code= */ true);
	buf_add_str(w->out, "\n");
}

void pages_settings(struct buf *out)
{
	struct writer w = { .out = out };
	buf_add_str(out, intro);
	config_each_described(add_setting, &w);
}
