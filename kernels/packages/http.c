#include "kernels/packages/http.h"

#include <ctype.h>

static const char *const passed[] = { "accept",	       "accept-encoding",   "range",
				      "if-none-match", "if-modified-since", "user-agent" };
_Static_assert(ARRAY_LEN(passed) <= HTTP_HEADERS_MAX, "every header has a place");

bool http_passes(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(passed); i++)
		if (streq(name, passed[i]))
			return true;
	return false;
}

bool http_is_value(const char *value)
{
	for (; *value; value++)
		if ((unsigned char)*value > 0x7e || ((unsigned char)*value < 0x20 && *value != '\t'))
			return false;
	return true;
}

static bool is_token(const char *name)
{
	if (!*name)
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && !strchr("!#$%&'*+-.^_`|~", *name))
			return false;
	return true;
}

/* ---- requests */

static int parse_line(char *line, struct http_request *ret)
{
	char *target = strchr(line, ' '), *version = target ? strchr(target + 1, ' ') : NULL;
	if (!version)
		return -400;
	*target++ = *version++ = '\0';
	if (!streq(version, "HTTP/1.1"))
		return strncmp(version, "HTTP/", 5) == 0 ? -505 : -400;
	if (!streq(line, "GET") && !streq(line, "HEAD"))
		return is_token(line) ? -405 : -400;
	/* The target has no authority, since this is not a proxy. */
	if (*target != '/')
		return -400;
	for (const char *c = target; *c; c++)
		if ((unsigned char)*c <= 0x20 || (unsigned char)*c > 0x7e)
			return -400;
	if (strlen(target) > HTTP_TARGET_MAX)
		return -414;
	ret->head = *line == 'H';
	ret->target = target;
	return 0;
}

static bool has(const struct http_request *r, const char *name)
{
	for (size_t i = 0; i < r->n_headers; i++)
		if (streq(r->headers[i].name, name))
			return true;
	return false;
}

static int parse_header(char *line, struct http_request *ret)
{
	char *value = strchr(line, ':');
	if (!value)
		return -400;
	*value++ = '\0';
	value += strspn(value, " \t");
	for (char *end = value + strlen(value); end > value && (end[-1] == ' ' || end[-1] == '\t'); end--)
		end[-1] = '\0';
	if (!is_token(line))
		return -400;
	for (char *c = line; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	/* No request here has a body. */
	if (streq(line, "transfer-encoding") || (streq(line, "content-length") && !streq(value, "0")))
		return -413;
	if (!http_passes(line) || has(ret, line) || !http_is_value(value))
		return 0;
	ret->headers[ret->n_headers++] = (struct http_header){ line, value };
	return 0;
}

int http_parse(char *data, size_t n, struct http_request *ret)
{
	size_t looked = MIN(n, (size_t)HTTP_HEAD_MAX);
	char *end = memmem(data, looked, "\r\n\r\n", 4);
	if (!end)
		return n >= HTTP_HEAD_MAX ? -431 : 0;
	end[2] = '\0';
	if (memchr(data, '\0', (size_t)(end - data)))
		return -400;
	*ret = (struct http_request){ 0 };
	int r = 0;
	for (char *line = data, *next; *line && r == 0; line = next) {
		next = strstr(line, "\r\n");
		*next = '\0';
		next += 2;
		if (strpbrk(line, "\r\n"))
			return -400;
		r = line == data ? parse_line(line, ret) : parse_header(line, ret);
	}
	return r < 0 ? r : ret->target ? 1 : -400;
}

/* ---- answers */

static const char *reason(int status)
{
	static const struct {
		int status;
		const char *text;
	} reasons[] = {
		{ 200, "OK" },
		{ 206, "Partial Content" },
		{ 301, "Moved Permanently" },
		{ 302, "Found" },
		{ 303, "See Other" },
		{ 304, "Not Modified" },
		{ 307, "Temporary Redirect" },
		{ 308, "Permanent Redirect" },
		{ 400, "Bad Request" },
		{ 401, "Unauthorized" },
		{ 403, "Forbidden" },
		{ 404, "Not Found" },
		{ 405, "Method Not Allowed" },
		{ 413, "Content Too Large" },
		{ 414, "URI Too Long" },
		{ 416, "Range Not Satisfiable" },
		{ 429, "Too Many Requests" },
		{ 431, "Request Header Fields Too Large" },
		{ 500, "Internal Server Error" },
		{ 502, "Bad Gateway" },
		{ 503, "Service Unavailable" },
		{ 504, "Gateway Timeout" },
		{ 505, "HTTP Version Not Supported" },
	};
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		if (reasons[i].status == status)
			return reasons[i].text;
	return "Relayed";
}

void http_put_status(struct buf *out, int status)
{
	(void)buf_printf(out, "HTTP/1.1 %d %s\r\n", status, reason(status));
}

void http_put_error(struct buf *out, int status, const char *text)
{
	http_put_status(out, status);
	(void)buf_printf(out,
			 "Content-Type: text/plain; charset=utf-8\r\nContent-Length: %zu\r\n"
			 "Connection: close\r\n\r\n%s",
			 strlen(text), text);
}
