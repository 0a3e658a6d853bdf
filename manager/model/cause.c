#include "manager/model/cause.h"

#include "base/alloc.h"

static const char *const names[CAUSE_COUNT] = {
	[CAUSE_NONE] = "none",
	[CAUSE_NO_CLIENT] = "no_client",
	[CAUSE_NO_ENGINE] = "no_engine",
	[CAUSE_ENGINE_SILENT] = "engine_silent",
	[CAUSE_ENGINE_REFUSED] = "engine_refused",
	[CAUSE_NO_IMAGE] = "no_image",
	[CAUSE_NO_NODE] = "no_node",
	[CAUSE_NO_CONTAINER] = "no_container",
	[CAUSE_NOT_SUPPORTED] = "not_supported",
	[CAUSE_STOPPED] = "stopped",
	[CAUSE_STOPPED_BY_HAND] = "stopped_by_hand",
	[CAUSE_IDLE] = "idle",
	[CAUSE_LIFETIME] = "lifetime",
	[CAUSE_LEASE] = "lease",
	[CAUSE_OOM] = "oom",
	[CAUSE_EXITED] = "exited",
	[CAUSE_REMOVED] = "removed",
	[CAUSE_ENGINE_RESTARTED] = "engine_restarted",
	[CAUSE_UNWATCHED] = "unwatched",
	[CAUSE_TAKEN_OVER] = "taken_over",
	[CAUSE_DISK] = "disk",
	[CAUSE_KERNEL_FAILED] = "kernel_failed",
	[CAUSE_PROTOCOL] = "protocol",
	[CAUSE_HALF_MADE] = "half_made",
	[CAUSE_NODE] = "node",
	[CAUSE_NO_SESSION] = "no_session",
	[CAUSE_OTHER_CONVERSATION] = "other_conversation",
	[CAUSE_OTHER_SERVER] = "other_server",
	[CAUSE_OTHER_ENGINE] = "other_engine",
	[CAUSE_STARTING] = "starting",
	[CAUSE_ADOPTING] = "adopting",
	[CAUSE_QUEUE_FULL] = "queue_full",
	[CAUSE_TOO_LONG] = "too_long",
	[CAUSE_RECONNECTING] = "reconnecting",
	[CAUSE_LIMIT_SESSIONS] = "limit_sessions",
	[CAUSE_LIMIT_CONVERSATION_SESSIONS] = "limit_conversation_sessions",
	[CAUSE_LIMIT_CONVERSATIONS] = "limit_conversations",
	[CAUSE_LIMIT_TENANT] = "limit_tenant",
	[CAUSE_TOO_MUCH] = "too_much",
	[CAUSE_TOO_LITTLE] = "too_little",
	[CAUSE_USER_TAKEN] = "user_taken",
	[CAUSE_NOT_LISTED] = "not_listed",
	[CAUSE_UNFIT] = "unfit",
	[CAUSE_NETWORK_OFF] = "network_off",
	[CAUSE_ENV_NAME] = "env_name",
	[CAUSE_ENV_SIZE] = "env_size",
	[CAUSE_NO_DIRECTORY] = "no_directory",
	[CAUSE_NO_BRANCH] = "no_branch",
	[CAUSE_NOT_PROVEN] = "not_proven",
	[CAUSE_NO_FENCE] = "no_fence",
	[CAUSE_NO_RUN] = "no_run",
	[CAUSE_RUN_TOLD] = "run_told",
	[CAUSE_RUN_WAITED] = "run_waited",
	[CAUSE_RUN_FOREIGN] = "run_foreign",
	[CAUSE_NOT_INTERACTIVE] = "not_interactive",
	[CAUSE_NO_PROMPT] = "not_asking",
	[CAUSE_INPUT_SIZE] = "input_size",
	[CAUSE_OLD_SESSION] = "old_session",
	[CAUSE_INTERPRETER_BUSY] = "interpreter_busy",
	[CAUSE_CANNOT_ANSWER] = "cannot_answer",
	[CAUSE_PORT_REFUSED] = "port_refused",
	[CAUSE_GATE_DENIED] = "gate_denied",
	[CAUSE_GATE_LIMIT] = "gate_limit",
	[CAUSE_GATE_MISMATCH] = "gate_mismatch",
	[CAUSE_HOST_PRIVATE] = "host_private",
	[CAUSE_HOST_NOT_FOUND] = "host_not_found",
	[CAUSE_HOST_REFUSED] = "host_refused",
	[CAUSE_HOST_TIMEOUT] = "host_timeout",
	[CAUSE_GATE_TLS] = "gate_tls",
	[CAUSE_GATE_UPSTREAM] = "gate_upstream",
	[CAUSE_GATE_HTTP] = "gate_http",
	[CAUSE_NO_TASK] = "no_task",
	[CAUSE_TASK_EXPIRED] = "task_expired",
	[CAUSE_NO_ANSWER] = "no_answer",
	[CAUSE_NO_END] = "no_end",
	[CAUSE_INSTALL_FAILED] = "install_failed",
	[CAUSE_INSTALL_TIME] = "install_time",
	[CAUSE_INSTALL_MEMORY] = "install_memory",
	[CAUSE_INSTALL_SIZE] = "install_size",
	[CAUSE_INSTALL_LOST] = "install_lost",
	[CAUSE_INSTALL_INDEX] = "install_index",
	[CAUSE_STREAM_BROKE] = "stream_broke",
	[CAUSE_STALLED] = "stalled",
	[CAUSE_NOT_EXPORTED] = "not_exported",
	[CAUSE_FOLDER_TOO_LARGE] = "folder_too_large",
	[CAUSE_PATH_DENIED] = "path_denied",
	[CAUSE_NO_FILE] = "no_file",
	[CAUSE_PATH_OUTSIDE] = "path_outside",
	[CAUSE_NOT_DIRECTORY] = "not_directory",
	[CAUSE_IS_DIRECTORY] = "is_directory",
	[CAUSE_NOT_FILE] = "not_file",
	[CAUSE_FILE_EXISTS] = "file_exists",
	[CAUSE_NOT_EMPTY] = "not_empty",
	[CAUSE_FILE_CHANGED] = "file_changed",
	[CAUSE_FILE_DENIED] = "file_denied",
	[CAUSE_NO_ROOM] = "no_room",
	[CAUSE_FILE_LIMIT] = "file_limit",
	[CAUSE_NO_SERVER] = "no_server",
	[CAUSE_ATTACH_OFF] = "attach_off",
	[CAUSE_SERVER_SILENT] = "server_silent",
	[CAUSE_OTHER_VERSION] = "other_version",
};

const char *cause_name(enum cause cause)
{
	return names[cause];
}

enum cause cause_find(const char *name)
{
	for (int i = 0; i < CAUSE_COUNT; i++)
		if (streq(names[i], name))
			return (enum cause)i;
	return CAUSE_NONE;
}

int cause_set(struct fail *f, enum fail_kind kind, enum cause cause, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	AUTO(freep) char *message = xvasprintf(fmt, ap);
	va_end(ap);
	fail_set(f, kind, "%s", message);
	f->cause = cause;
	return -1;
}

enum cause cause_of(const struct fail *f)
{
	return f->cause > CAUSE_NONE && f->cause < CAUSE_COUNT ? (enum cause)f->cause : CAUSE_NONE;
}

int cause_no_session(struct fail *f, const char *id)
{
	return cause_set(f, FAIL_NOT_FOUND, CAUSE_NO_SESSION, "Session '%.64s' not found", id);
}
