/* Accessors of a session. */
#include "manager/session/session-private.h"

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
