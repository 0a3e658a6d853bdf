#include "mcp/logging.h"

#include "base/json.h"
#include "base/log.h"
#include "mcp/rpc.h"

/* In the order of severity. Husk logs nothing above "error", so a client that sets a higher level gets no messages. */
static const struct {
	const char *name;
	enum log_level least;
	bool none;
} levels[] = {
	{ "debug", LOG_DEBUG },
	{ "info", LOG_INFO },
	{ "notice", LOG_WARNING },
	{ "warning", LOG_WARNING },
	{ "error", LOG_ERROR },
	{ "critical", LOG_ERROR, .none = true },
	{ "alert", LOG_ERROR, .none = true },
	{ "emergency", LOG_ERROR, .none = true },
};

static void on_line(void *ctx, enum log_level level, const char *text)
{
	struct connection *c = ctx;
	connection_notify_if_idle(c, /* call= */ NULL,
				  rpc_notification("notifications/message",
						   json_pack("{s:s, s:s, s:o}", "level", log_levels[level], "logger",
							     "husk", "data", json_shown(text))));
}

void logging_set_level(struct connection *c, struct call *call, json_t *params)
{
	const char *wanted = json_string_value(json_object_get(params, "level"));
	for (size_t i = 0; wanted && i < ARRAY_LEN(levels); i++) {
		if (!streq(wanted, levels[i].name))
			continue;
		if (!c->hides_log)
			log_watch(levels[i].none ? NULL : on_line, c, levels[i].least);
		call_reply(call, json_object());
		return;
	}
	call_reply_error(
		call, RPC_INVALID_PARAMS,
		"Invalid params: \"level\" must be debug, info, notice, warning, error, critical, alert or emergency",
		NULL);
}

void logging_release(struct connection *c)
{
	log_unwatch(c);
}
