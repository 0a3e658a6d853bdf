/* Accessors of a session. */
#include "base/alloc.h"
#include "manager/session/session-private.h"

/* Long enough for a model to finish what it is doing. */
#define LIFETIME_NOTICE_SECONDS 600u
/* Longer idle times are not worth a notice in every answer. */
#define IDLE_NOTICE_SECONDS 120u

const char *session_id(const struct session *s)
{
	return s->id;
}

const char *session_container(const struct session *s)
{
	return s->container;
}

const char *session_mark(const struct session *s)
{
	return s->mark;
}

const char *session_removable(const struct session *s)
{
	if (!s->store)
		return s->container;
	return s->own && *s->container_id ? s->container_id : NULL;
}

const char *session_image(const struct session *s)
{
	return s->image;
}

const struct runtime *session_runtime(const struct session *s)
{
	return s->spec.runtime;
}

bool session_network(const struct session *s)
{
	return s->spec.network;
}

const struct limits *session_limits(const struct session *s)
{
	return &s->spec.limits;
}

uint64_t session_epoch(const struct session *s)
{
	return s->epoch;
}

enum session_state session_state(const struct session *s)
{
	return s->state;
}

const struct fail *session_death(const struct session *s)
{
	return &s->death;
}

bool session_is_lost(const struct session *s)
{
	return s->lost;
}

bool session_is_connected(const struct session *s)
{
	return line_dispatch(s->line)->open;
}

bool session_is_busy(const struct session *s)
{
	return line_busy(s->line);
}

bool session_is_changing(const struct session *s)
{
	return s->task != NULL;
}

uint64_t session_age_ms(const struct session *s)
{
	return loop_now_ms() - s->created_ms;
}

uint64_t session_idle_ms(const struct session *s)
{
	return session_is_busy(s) ? 0 : loop_now_ms() - line_dispatch(s->line)->used_ms;
}

uint64_t session_left_ms(const struct session *s)
{
	uint64_t now = loop_now_ms();
	return s->ends_ms ? s->ends_ms - MIN(now, s->ends_ms) : UINT64_MAX;
}

struct dispatch *session_dispatch(struct session *s)
{
	return line_dispatch(s->line);
}

const char *session_transport(const struct session *s)
{
	return line_transport(s->line);
}

char *session_notice(uint64_t left_ms, uint64_t lifetime_seconds, uint64_t idle_ttl_seconds)
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
