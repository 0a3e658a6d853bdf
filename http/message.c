#include "http/message.h"

void http_head_release(struct http_head *h)
{
	buf_release(&h->target);
	http_fields_release(&h->fields);
}

void http_head_reset(struct http_head *h)
{
	buf_reset(&h->target);
	http_fields_reset(&h->fields);
	h->method = HTTP_METHOD_OTHER;
	h->method_name[0] = 0;
	h->status = h->minor = 0;
	h->keep_alive = h->upgrade = h->chunked = false;
	h->length = 0;
}

const char *http_status_phrase(int status)
{
	static const struct {
		int status;
		const char *phrase;
	} phrases[] = {
		{ 100, "Continue" },
		{ 101, "Switching Protocols" },
		{ 200, "OK" },
		{ 201, "Created" },
		{ 202, "Accepted" },
		{ 204, "No Content" },
		{ 206, "Partial Content" },
		{ 303, "See Other" },
		{ 304, "Not Modified" },
		{ 400, "Bad Request" },
		{ 401, "Unauthorized" },
		{ 403, "Forbidden" },
		{ 404, "Not Found" },
		{ 405, "Method Not Allowed" },
		{ 406, "Not Acceptable" },
		{ 408, "Request Timeout" },
		{ 409, "Conflict" },
		{ 410, "Gone" },
		{ 411, "Length Required" },
		{ 412, "Precondition Failed" },
		{ 413, "Content Too Large" },
		{ 415, "Unsupported Media Type" },
		{ 416, "Range Not Satisfiable" },
		{ 417, "Expectation Failed" },
		{ 421, "Misdirected Request" },
		{ 422, "Unprocessable Content" },
		{ 426, "Upgrade Required" },
		{ 429, "Too Many Requests" },
		{ 431, "Request Header Fields Too Large" },
		{ 500, "Internal Server Error" },
		{ 501, "Not Implemented" },
		{ 502, "Bad Gateway" },
		{ 503, "Service Unavailable" },
		{ 504, "Gateway Timeout" },
		{ 505, "HTTP Version Not Supported" },
		{ 507, "Insufficient Storage" },
	};
	for (size_t i = 0; i < ARRAY_LEN(phrases); i++)
		if (phrases[i].status == status)
			return phrases[i].phrase;
	return "Unknown";
}

const char *http_method_text(enum http_method method)
{
	static const char *const names[] = {
		[HTTP_METHOD_GET] = "GET",	   [HTTP_METHOD_HEAD] = "HEAD",	  [HTTP_METHOD_POST] = "POST",
		[HTTP_METHOD_PUT] = "PUT",	   [HTTP_METHOD_PATCH] = "PATCH", [HTTP_METHOD_DELETE] = "DELETE",
		[HTTP_METHOD_OPTIONS] = "OPTIONS",
	};
	return names[method];
}
