#include "http/problem.h"

#include "base/defs.h"
#include "http/message.h"

/* "Not Found" -> "not_found" */
static void status_word(int status, char *ret, size_t size)
{
	size_t n = 0;
	for (const char *s = http_status_phrase(status); *s && n + 1 < size; s++)
		ret[n++] = (char)(*s == ' ' ? '_' : *s >= 'A' && *s <= 'Z' ? *s | 0x20 : *s);
	ret[n] = '\0';
}

const char *http_problem_hint(int status)
{
	switch (status) {
	case 401:
		return "Send the header Authorization.";
	case 403:
		return "Use a key that has this right.";
	case 404:
		return "Check the ids and names in the address.";
	case 408:
		return "Send the request again, without long pauses.";
	case 409:
		return "Read the present state, then decide whether to try again.";
	case 412:
		return "Read the present version first.";
	case 413:
		return "Send less, or divide it into several requests.";
	case 414:
	case 431:
		return "Send a shorter request.";
	case 416:
		return "HEAD shows the size.";
	case 417:
		return "Leave the field Expect out.";
	case 429:
	case 502:
	case 503:
	case 504:
		return "Try again later.";
	case 500:
		return "The log of the server has more.";
	case 501:
		return "Send a request that this server supports.";
	case 505:
		return "Send HTTP/1.1.";
	default:
		return "Correct the request, then send it again.";
	}
}

json_t *http_problem(int status, const char *cause, const char *detail, const char *hint)
{
	char word[48];
	status_word(status, word, sizeof(word));
	return json_pack("{s:s, s:s, s:i, s:o, s:s, s:o}", "type", "about:blank", "title", http_status_phrase(status),
			 "status", status, "detail", json_text(detail), "cause", cause ? cause : word, "hint",
			 json_text(hint ? hint : http_problem_hint(status)));
}
