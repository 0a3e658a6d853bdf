#include "manager/registry/notice.h"

#include "base/alloc.h"

/* Long enough for a model to finish what it is doing. */
#define LIFETIME_NOTICE_SECONDS 600u
/* Longer idle times are not worth a notice in every answer. */
#define IDLE_NOTICE_SECONDS 120u

char *notice_text(uint64_t left_ms, uint64_t lifetime_seconds, uint64_t idle_ttl_seconds)
{
	uint64_t left = left_ms / 1000;
	if (left <= MIN(LIFETIME_NOTICE_SECONDS, lifetime_seconds / 4))
		return xasprintf(
			"The session ends in %llu s, at the end of its lifetime (SESSION_MAX_LIFETIME_SECONDS): its "
			"variables and files are lost then. Export what you need and continue in a new session.",
			(unsigned long long)left);
	if (idle_ttl_seconds <= IDLE_NOTICE_SECONDS)
		return xasprintf("The session ends after %llu s without use (SESSION_IDLE_TTL_SECONDS).",
				 (unsigned long long)idle_ttl_seconds);
	return NULL;
}
