/* Routes for the operator: the settings of the server, and the doctor. */
#include "api/host.h"
#include "api/route.h"
#include "base/alloc.h"
#include "base/json.h"
#include "manager/json/codec.h"

struct setting_body {
	const char *name, *value;
};

static const struct arg setting_table[] = {
	{ "name", ARG_STRING, offsetof(struct setting_body, name), ARG_REQUIRED | ARG_NONEMPTY, .max = 64,
	  .description = "Name of the setting.", .example = "\"CONTAINER_MEMORY_LIMIT\"" },
	{ "value", ARG_STRING, offsetof(struct setting_body, value), .max = 65536,
	  .description = "The new value. Without it, the stored value is removed.", .example = "\"4g\"" },
	{ 0 },
};

/* --- settings ------------------------------------------------------------------------------------------------------ */

static void get_settings(struct exchange *x)
{
	AUTO(strv_release) struct strv names = { 0 };
	json_t *list = json_array();
	config_names(&names);
	for (size_t i = 0; i < names.n; i++)
		json_array_append_new(list, setting_encode(x->api->spec.config, names.v[i]));
	exchange_reply(x, 200, json_pack("{s:o}", "settings", list));
}

static void put_setting(struct exchange *x)
{
	const struct setting_body *body = x->args;
	AUTO(fail_release) struct fail f = { 0 };
	if (x->caller.remote && config_knows(body->name) && !config_is_plain(body->name)) {
		fail_set(
			&f, FAIL_INVALID,
			"%.64s is a text, which may name programs or files of the machine: it cannot be changed over TCP.",
			body->name);
		fail_hint(&f, "Use `husk config set` on the machine.");
		exchange_fail(x, &f);
		return;
	}
	if (settings_keep(x->api->spec.env_file, body->name, body->value, &f) < 0)
		exchange_fail(x, &f);
	else
		exchange_reply(x, 200,
			       json_pack("{s:s, s:s?, s:s}", "name", body->name, "value",
					 config_is_secret(body->name) ? NULL : body->value, "note",
					 "Servers use the value when they start again."));
}

/* --- doctor -------------------------------------------------------------------------------------------------------- */

struct inspection {
	struct doctor *doctor;
	struct timer *timer; /* answers outside of the doctor's callbacks */
	json_t *checks;
	bool failed;
};

static void inspection_free(struct exchange *x)
{
	struct inspection *i = take_ptr(x->data);
	x->api->inspecting = false;
	doctor_free(i->doctor);
	timer_free(i->timer);
	json_decref(i->checks);
	free(i);
}

static void on_check(void *ctx, const struct check *check)
{
	struct exchange *x = ctx;
	struct inspection *i = x->data;
	i->failed |= check->status == CHECK_FAIL;
	json_array_append_new(i->checks, check_encode(check));
}

static void on_checked(void *ctx)
{
	struct exchange *x = ctx;
	struct inspection *i = x->data;
	timer_start(i->timer, 0, 0);
}

static void on_over(void *ctx)
{
	struct exchange *x = ctx;
	struct inspection *i = x->data;
	exchange_reply(x, 200, checks_encode(i->checks, /* ok= */ !i->failed));
}

static void get_doctor(struct exchange *x)
{
	AUTO(fail_release) struct fail f = { 0 };
	if (x->api->inspecting) {
		fail_set(&f, FAIL_LIMIT, "Another request runs the doctor; try again later.");
		exchange_fail(x, &f);
		return;
	}
	struct inspection *i = new0(struct inspection);
	i->checks = json_array();
	i->timer = timer_new(x->api->spec.loop, on_over, x);
	x->api->inspecting = true;
	x->data = i;
	x->closed = inspection_free;
	i->doctor = doctor_new(x->api->spec.loop, &(struct doctor_request){ .env_file = x->api->spec.env_file,
									    .on_check = on_check,
									    .on_done = on_checked,
									    .ctx = x });
}

/* --- the table ----------------------------------------------------------------------------------------------------- */

static const struct route_answer settings_answers[] = {
	{ 200, "Settings", NULL, "All settings; secrets without their value." }, { 0 }
};
static const struct route_answer changed_answers[] = { { 200, "Anything", NULL, "The setting is stored." }, { 0 } };
static const struct route_answer doctor_answers[] = { { 200, "Doctor", NULL, "The checks, in a fixed order." }, { 0 } };

const struct route routes_settings[] = {
	{ .method = HTTP_METHOD_GET,
	  .path = "/v1/settings",
	  .scope = SCOPE_SETTINGS,
	  .name = "getSettings",
	  .tag = "server",
	  .summary = "Show the settings of the server, and where each comes from",
	  .answers = settings_answers,
	  .example = "",
	  .handle = get_settings },
	{ .method = HTTP_METHOD_PUT,
	  .path = "/v1/settings",
	  .scope = SCOPE_ADMIN,
	  .name = "changeSetting",
	  .tag = "server",
	  .summary = "Store a setting, as `husk config set` does",
	  .text = "Servers use it when they start again. Over TCP, only numbers, sizes and choices can be changed.",
	  .body = setting_table,
	  .body_size = sizeof(struct setting_body),
	  .answers = changed_answers,
	  .handle = put_setting },
	{ .method = HTTP_METHOD_GET,
	  .path = "/v1/doctor",
	  .scope = SCOPE_ADMIN,
	  .name = "runDoctor",
	  .tag = "server",
	  .summary = "Check everything that sessions need, as `husk doctor` does",
	  .answers = doctor_answers,
	  .handle = get_doctor },
	{ 0 },
};
