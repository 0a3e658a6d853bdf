#include "jupyter/face/trouble.h"

#include "base/alloc.h"
#include "base/json.h"

static const char *name_of(enum ending ending)
{
	switch (ending) {
	case ENDING_TIMEOUT:
		return "Timeout";
	case ENDING_INTERRUPTED:
		return "Interrupted";
	case ENDING_OOM:
		return "OutOfMemory";
	case ENDING_KERNEL_DIED:
		return "InterpreterDied";
	case ENDING_CONTAINER_DIED:
		return "SessionEnded";
	case ENDING_SESSION_LOST:
		return "SessionLost";
	case ENDING_OK:
	case ENDING_ERROR:
	case ENDING_RUNNING:
	case ENDING_WAITING:
		break;
	}
	return "Error";
}

static json_t *make(const char *name, const char *value, json_t *lines)
{
	return json_pack("{s:o, s:o, s:o}", "ename", json_text(name), "evalue", json_text(value), "traceback", lines);
}

static void add_line(json_t *lines, char *line)
{
	json_array_append_new(lines, json_text(line));
	free(line);
}

json_t *trouble_of_text(const char *name, const char *text)
{
	json_t *lines = json_array();
	add_line(lines, xasprintf("%s: %s", name, text));
	return make(name, text, lines);
}

json_t *trouble_of_result(const struct run_result *r)
{
	const char *detail = r->detail ? r->detail : "";
	const char *name = r->error_type ? r->error_type : name_of(r->ending);
	const char *value = r->error_message ? r->error_message : detail;
	json_t *lines = json_array();
	if (r->error_traceback && *r->error_traceback)
		add_line(lines, xstrdup(r->error_traceback));
	else
		add_line(lines, xasprintf("%s: %s", name, value));
	if (*detail && value != detail)
		add_line(lines, xasprintf("husk: %s", detail));
	if (r->lost)
		add_line(lines, xasprintf("husk: lost with the interpreter: %s", r->lost));
	return make(name, value, lines);
}

json_t *trouble_of_fail(const struct fail *f)
{
	const char *message = f->message ? f->message : "failed";
	json_t *error = trouble_of_text("HuskError", message);
	if (f->hint)
		add_line(json_object_get(error, "traceback"), xstrdup(f->hint));
	return error;
}
