#include "mcp/text.h"

#include "base/alloc.h"
#include "base/utf8.h"

/* "\n⟦… 123456789012 characters cut …⟧\n" */
#define NOTE_CHARS 60

char *text_cut(const char *s, size_t max_chars, bool gap)
{
	size_t n = strlen(s), chars = utf8_count(s, n);
	if (chars <= max_chars)
		return xstrdup(s);
	size_t keep = max_chars > NOTE_CHARS ? max_chars - NOTE_CHARS : 0;
	size_t head = utf8_head(s, n, keep - keep / 2), tail = utf8_tail(s, n, keep / 2);
	AUTO(freep) char *missing = gap ? xstrdup("the middle is") : xasprintf("%zu characters", chars - keep);
	return xasprintf("%.*s\n⟦… %s cut …⟧\n%s", (int)head, s, missing, s + n - tail);
}
