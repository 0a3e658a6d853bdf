/* The routes of the API, for docs/http.md. */
#include <ctype.h>

#include "api/route.h"
#include "base/alloc.h"
#include "tools/pages/pages.h"

#define COLUMNS 100

static const struct {
	const char *tag, *title, *text;
} sections[] = {
	{ "sessions", "Sessions", "A session is a container with an interpreter." },
	{ "runs", "Runs", "A run is one cell or command." },
	{ "queries", "Queries", "An editor's requests to the interpreter, which leave nothing behind." },
	{ "events", "Events", "Streams of everything that happens in sessions." },
	{ "files", "Files", "Files of a session." },
	{ "exports", "Exports", "Exports are copies of files that stay when their session has ended." },
	{ "terminal", "Terminals", "A shell of a session for a person, over a WebSocket." },
	{ "ports", "Ports", "Servers in a session. `husk open SESSION PORT` is for browsers." },
	{ "keys", "Keys", "Keys of programs and people." },
	{ "secrets", "Secrets", "Values that sessions use but never see." },
	{ "server", "The server", "The server itself." },
	{ "threads", "Routes of the reference", "For programs that were written for the reference server." },
};

/* Adds a paragraph, wrapped. Code spans may be broken at blanks, as Markdown allows. */
static void add_paragraph(struct buf *out, const char *text)
{
	size_t column = 0;
	while (*text) {
		size_t n = strcspn(text, " ");
		if (column && column + 1 + n > COLUMNS) {
			buf_add_str(out, "\n");
			column = 0;
		}
		buf_printf(out, "%s%.*s", column ? " " : "", (int)n, text);
		column += n + (column > 0);
		text += n;
		text += strspn(text, " ");
	}
	buf_add_str(out, "\n");
}

/* A cell of a table: a `|` in the text would start the next cell. */
static void add_cell(struct buf *out, const char *text)
{
	for (; *text; text++)
		buf_printf(out, *text == '|' ? "\\%c" : "%c", *text);
}

static const char *type_text(const struct arg *a)
{
	static const char *const names[] = {
		[ARG_STRING] = "text",
		[ARG_INT] = "integer",
		[ARG_BOOL] = "true or false",
		[ARG_OBJECT] = "object",
		[ARG_LIST] = "list",
		[ARG_NUMBER] = "number",
		[ARG_SIZE] = "size",
		[ARG_TEXTS] = "texts",
		[ARG_STRINGS] = "list of texts",
		[ARG_SWITCH] = "true, false or list of texts",
	};
	return names[a->type];
}

/* The values or the range that the argument accepts. */
static void add_rule(struct buf *out, const struct arg *a)
{
	const char *value;
	for (size_t i = 0; a->choice && (value = a->choice(i)); i++)
		buf_printf(out, "%s`%s`", i == 0 ? " One of " : ", ", value);
	if (a->choice)
		buf_add_str(out, ".");
	else if (a->type == ARG_INT && a->max > a->min && a->max < UINT32_MAX)
		buf_printf(out, " From %lld to %lld.", (long long)a->min, (long long)a->max);
}

static void add_rows(struct buf *out, const struct arg *table, const char *prefix)
{
	for (const struct arg *a = table; a->name; a++) {
		if (a->flags & ARG_HIDDEN)
			continue;
		AUTO(freep) char *name = xasprintf("%s%s", prefix, a->name);
		buf_printf(out, "| `%s`%s | %s | ", name, a->flags & ARG_REQUIRED ? " (required)" : "", type_text(a));
		add_cell(out, a->description);
		add_rule(out, a);
		buf_add_str(out, " |\n");
		if (a->type == ARG_LIST) {
			AUTO(freep) char *below = xasprintf("%s[].", name);
			add_rows(out, a->item, below);
		}
	}
}

static void add_table(struct buf *out, const struct arg *table, const char *title)
{
	if (!table || !table->name)
		return;
	buf_printf(out, "\n| %s | type | meaning |\n|---|---|---|\n", title);
	add_rows(out, table, "");
}

static void add_needs(struct buf *out, const struct route *r)
{
	AUTO(buf_release) struct buf text = { 0 };
	buf_printf(&text, "%s.", r->summary);
	if (r->flags & ROUTE_OPEN)
		buf_add_str(&text, " Needs no key.");
	else if (r->scope)
		buf_printf(&text, " Scope: `%s`.", scope_name(r->scope));
	if (r->flags & ROUTE_LINK)
		buf_add_str(&text, " A signed link needs no key.");
	if (r->flags & ROUTE_WEBSOCKET)
		buf_add_str(&text, " Opens a WebSocket.");
	if (route_is_idempotent(r))
		buf_add_str(&text, " Accepts an `Idempotency-Key`.");
	if (r->text)
		buf_printf(&text, " %s", r->text);
	add_paragraph(out, buf_str(&text));
}

/* Replaces "{session}" in a path by "$SESSION", and "{path...}" by the path of an example file. */
static void add_example_path(struct buf *out, const char *path)
{
	const char *rest = strstr(path, "{path...}");
	bool capture = false;
	for (const char *p = path; *p && p != rest; p++) {
		if (*p == '{')
			buf_add_str(out, "$");
		else if (*p != '}')
			buf_printf(out, "%c", capture ? toupper((unsigned char)*p) : *p);
		capture = *p == '{' || (capture && *p != '}');
	}
	buf_add_str(out, rest ? "workspace/data.csv" : "");
}

static void add_example(struct buf *out, const struct route *r)
{
	AUTO(buf_release) struct buf command = { 0 };
	size_t query = *r->example == '?' ? strcspn(r->example, " ") : 0;
	const char *arguments = r->example + query + strspn(r->example + query, " ");
	buf_add_str(&command, "curl -H \"$KEY\" \"$HUSK");
	add_example_path(&command, r->path);
	buf_printf(&command, "%.*s\"", (int)query, r->example);
	bool fits = command.len + 1 + strlen(arguments) <= COLUMNS;
	buf_printf(out, "\n```sh not run: it needs a server and a key\n%s", buf_str(&command));
	buf_printf(out, "%s%s\n```\n", !*arguments ? "" : fits ? " " : " \\\n  ", arguments);
}

static void add_route(struct buf *out, const struct route *r)
{
	buf_printf(out, "\n#### `%s %s`\n\n", http_method_text(r->method), r->path);
	add_needs(out, r);
	add_table(out, r->query, "query");
	add_table(out, r->body, "body");
	buf_add_str(out, "\n");
	for (const struct route_answer *a = r->answers; a && a->status; a++)
		buf_printf(out, "- %d%s%s%s: %s\n", a->status, a->schema ? " `" : "", a->schema ? a->schema : "",
			   a->schema ? "`" : "", a->description);
	if (r->example)
		add_example(out, r);
}

void pages_routes(struct buf *out)
{
	for (size_t s = 0; s < ARRAY_LEN(sections); s++) {
		const struct route *r;
		bool begun = false;
		for (size_t i = 0; (r = route_nth(i)); i++) {
			if ((r->flags & ROUTE_HIDDEN) || !streq(r->tag, sections[s].tag))
				continue;
			if (!begun)
				buf_printf(out, "\n### %s\n\n%s\n", sections[s].title, sections[s].text);
			begun = true;
			add_route(out, r);
		}
	}
	buf_add_str(out, "\n");
}
