#include "jupyter/face/language.h"

#include <ctype.h>

#include "base/alloc.h"

/* Languages are found by the extension of their files or by name, so another runtime for a known language needs no line
 * here. */
static const struct language {
	const char *extension, *name, *mimetype, *lexer, *mode, *exporter;
} languages[] = {
	{ ".py", "python", "text/x-python", "ipython3", "ipython", "python" },
	{ ".js", "javascript", "text/javascript", "javascript", "javascript", "javascript" },
	{ ".R", "R", "text/x-r-source", "r", "r", "r" },
	{ ".sh", "bash", "text/x-sh", "bash", "shell", "script" },
	{ ".go", "go", "text/x-go", "go", "go", "script" },
	{ ".m", "octave", "text/x-octave", "octave", "octave", "script" },
	{ ".gp", "gp", "text/x-pari", "gp", "clike", "script" },
	{ ".rb", "ruby", "text/x-ruby", "ruby", "ruby", "script" },
	{ ".jl", "julia", "text/x-julia", "julia", "julia", "script" },
	{ ".java", "java", "text/x-java", "java", "text/x-java", "script" },
};
static const struct language unknown = { ".txt", "text", "text/plain", "text", "null", "script" };

static const struct language *find(const struct runtime *runtime)
{
	for (size_t i = 0; i < ARRAY_LEN(languages); i++)
		if (streq(languages[i].extension, runtime->extension) || streq(languages[i].name, runtime->name))
			return &languages[i];
	return &unknown;
}

const char *language_name(const struct runtime *runtime)
{
	const struct language *l = find(runtime);
	return l == &unknown ? runtime->name : l->name;
}

/* The length of a title without its version and its interpreter, such as " 3.13 (IPython)". */
static size_t title_length(const char *title)
{
	size_t n = 0;
	while (title[n] && !(title[n] == ' ' && (isdigit((unsigned char)title[n + 1]) || title[n + 1] == '(')))
		n++;
	return n;
}

char *language_title(const struct runtime *runtime)
{
	return xstrndup(runtime->title, title_length(runtime->title));
}

/* The version in the title, such as "3.13"; "" if the title has none. */
static char *version_of(const struct runtime *runtime)
{
	const char *at = runtime->title + title_length(runtime->title);
	at += *at == ' ';
	return xstrndup(at, strspn(at, "0123456789."));
}

json_t *language_info(const struct runtime *runtime)
{
	const struct language *l = find(runtime);
	AUTO(freep) char *version = version_of(runtime);
	json_t *mode = streq(l->mode, "ipython") ? json_pack("{s:s, s:i}", "name", l->mode, "version", 3) :
						   json_string(l->mode);
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:s}", "name", language_name(runtime), "version", version,
			 "mimetype", l->mimetype, "file_extension", l == &unknown ? runtime->extension : l->extension,
			 "pygments_lexer", l->lexer, "codemirror_mode", mode, "nbconvert_exporter", l->exporter);
}
