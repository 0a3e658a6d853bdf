#include "manager/files/names.h"

#include <ctype.h>
#include <limits.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/strv.h"
#include "base/utf8.h"
#include "kernels/entry.h"
#include "manager/model/cause.h"

#define EXTENSION_MAX 10

const char *names_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);
	if (streq(dir, "/"))
		return path + 1;
	if (strncmp(path, dir, n) != 0 || (path[n] && path[n] != '/'))
		return NULL;
	return path[n] ? path + n + 1 : path + n;
}

/* Joins components without "", "." and "..". As usual, ".." at the root stays at the root. */
static char *normal(const char *path)
{
	struct buf out = { 0 };
	AUTO(freep) char *copy = xstrdup(path);
	for (char *rest = copy, *part; (part = strsep(&rest, "/"));) {
		if (!*part || streq(part, "."))
			continue;
		if (!streq(part, "..")) {
			buf_printf(&out, "/%s", part);
			continue;
		}
		while (out.len && out.data[--out.len] != '/')
			;
	}
	return out.len ? buf_steal_str(&out) : (buf_release(&out), xstrdup("/"));
}

char *names_session_path(const char *path, struct fail *f)
{
	static const char *const roots[] = { "/workspace", "/tmp", "/home/sandbox" };
	size_t home = entry_home(path);
	AUTO(freep) char *full = home	      ? xasprintf("/home/sandbox%s", path + home) :
				 *path == '/' ? xstrdup(path) :
						xasprintf("/workspace/%s", path);
	AUTO(freep) char *clean = normal(full);
	for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
		const char *rest = names_below(clean, roots[i]);
		if (rest && entry_path_valid(rest, strlen(rest)))
			return take_ptr(clean);
		if (rest) {
			cause_set(f, FAIL_INVALID, CAUSE_PATH_OUTSIDE, "Path too long or too deep: %.200s…", path);
			return NULL;
		}
	}
	cause_set(f, FAIL_INVALID, CAUSE_PATH_OUTSIDE, "Path outside /workspace, /tmp and /home/sandbox (~): %s", path);
	fail_hint(f, *path == '/' ? "Use a path in one of these directories, such as /workspace/NAME." :
				    "Relative paths are below /workspace.");
	return NULL;
}

char *names_base(const char *path)
{
	size_t end = strlen(path);
	while (end > 1 && path[end - 1] == '/')
		end--;
	size_t start = end;
	while (start > 0 && path[start - 1] != '/')
		start--;
	return xstrndup(path + start, end - start);
}

const char *names_extension(const char *name)
{
	const char *dot = strrchr(name, '.');
	if (!dot || dot == name || strlen(dot) > EXTENSION_MAX || !dot[1])
		return "";
	for (const char *c = dot + 1; *c; c++)
		if (!isalnum((unsigned char)*c))
			return "";
	return dot;
}

const char *names_mime(const char *name)
{
	static const struct {
		const char *extension, *mime;
	} known[] = {
		{ ".txt", "text/plain" },
		{ ".log", "text/plain" },
		{ ".md", "text/markdown" },
		{ ".csv", "text/csv" },
		{ ".tsv", "text/tab-separated-values" },
		{ ".html", "text/html" },
		{ ".htm", "text/html" },
		{ ".css", "text/css" },
		{ ".xml", "text/xml" },
		{ ".py", "text/x-python" },
		{ ".r", "text/x-r" },
		{ ".js", "text/javascript" },
		{ ".mjs", "text/javascript" },
		{ ".ts", "text/plain" },
		{ ".sh", "text/x-shellscript" },
		{ ".c", "text/x-c" },
		{ ".h", "text/x-c" },
		{ ".sql", "text/plain" },
		{ ".yaml", "text/plain" },
		{ ".yml", "text/plain" },
		{ ".toml", "text/plain" },
		{ ".json", "application/json" },
		{ ".ipynb", "application/json" },
		{ ".pdf", "application/pdf" },
		{ ".png", "image/png" },
		{ ".jpg", "image/jpeg" },
		{ ".jpeg", "image/jpeg" },
		{ ".gif", "image/gif" },
		{ ".webp", "image/webp" },
		{ ".svg", "image/svg+xml" },
		{ ".mp3", "audio/mpeg" },
		{ ".wav", "audio/wav" },
		{ ".mp4", "video/mp4" },
		{ ".zip", "application/zip" },
		{ ".gz", "application/gzip" },
		{ ".tar", "application/x-tar" },
		{ ".parquet", "application/vnd.apache.parquet" },
		{ ".xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" },
		{ ".docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document" },
		{ ".pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation" },
	};
	const char *extension = names_extension(name);
	for (size_t i = 0; *extension && i < ARRAY_LEN(known); i++)
		if (strcasecmp(extension, known[i].extension) == 0)
			return known[i].mime;
	return "application/octet-stream";
}

char *names_host_file(const char *name, bool directory)
{
	static const char tar[] = ".tar";
	AUTO(buf_release) struct buf clean = { 0 };
	utf8_clean(&clean, name, strlen(name));
	char *text = (char *)buf_str(&clean);
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f || *c == '/')
			*c = '_';
	size_t room = NAME_MAX - (directory ? strlen(tar) : 0), n = strlen(text);
	while (n > room || (n && n < strlen(text) && ((unsigned char)text[n] & 0xc0) == 0x80))
		n--;
	text[n] = '\0';
	bool usable = n && !streq(text, ".") && !streq(text, "..");
	return xasprintf("%s%s", usable ? text : "export", directory ? tar : "");
}
