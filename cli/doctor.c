#include "cli/doctor.h"

#include <jansson.h>
#include <langinfo.h>
#include <locale.h>

#include "base/loop.h"
#include "cli/exit.h"
#include "manager/manager.h"

struct report {
	struct loop *loop;
	bool json, colour, unicode;
	json_t *checks;
	size_t counts[CHECK_FAIL + 1];
	uint64_t began_ms;
};

static const char *const status_names[] = { [CHECK_OK] = "ok", [CHECK_WARN] = "warn", [CHECK_FAIL] = "fail" };

/* Marks and colours are for a terminal that can show them. */
static void look_at_terminal(struct report *r)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	bool terminal = isatty(STDOUT_FILENO);
	setlocale(LC_CTYPE, "");
	r->unicode = terminal && streq(nl_langinfo(CODESET), "UTF-8");
	r->colour = terminal && !(no_color && *no_color) && !(term && streq(term, "dumb"));
}

static const char *mark(const struct report *r, enum check_status status)
{
	static const char *const unicode[] = { "✓", "!", "✗" }, *const ascii[] = { "ok  ", "warn", "FAIL" };
	return r->unicode ? unicode[status] : ascii[status];
}

static const char *colour(const struct report *r, enum check_status status)
{
	static const char *const codes[] = { "\033[32m", "\033[33m", "\033[31m" };
	return r->colour ? codes[status] : "";
}

static void print_check(const struct report *r, const struct check *check)
{
	const char *plain = r->colour ? "\033[0m" : "";
	printf("  %s%s%s %-15s %s\n", colour(r, check->status), mark(r, check->status), plain, check->name,
	       check->detail);
	if (check->fix)
		printf("  %*s %-15s %s %s\n", r->unicode ? 1 : 4, "", "", r->unicode ? "→" : "->", check->fix);
	fflush(stdout);
}

static void on_check(void *ctx, const struct check *check)
{
	struct report *r = ctx;
	r->counts[check->status]++;
	if (!r->json) {
		print_check(r, check);
		return;
	}
	json_t *entry = json_pack("{s:s, s:s, s:s}", "name", check->name, "status", status_names[check->status],
				  "detail", check->detail);
	if (check->fix)
		json_object_set_new(entry, "fix", json_string(check->fix));
	json_array_append_new(r->checks, entry);
}

static void on_done(void *ctx)
{
	struct report *r = ctx;
	loop_stop(r->loop, r->counts[CHECK_FAIL] ? EXIT_NO : EXIT_DONE);
}

static void on_signal(void *ctx, int signo UNUSED)
{
	loop_stop(ctx, EXIT_SYSTEM);
}

static void print_json(const struct report *r)
{
	json_auto_t *object = json_pack("{s:b, s:s, s:O}", "ok", r->counts[CHECK_FAIL] == 0, "version", HUSK_VERSION,
					"checks", r->checks);
	json_dumpf(object, stdout, JSON_INDENT(2));
	putchar('\n');
}

static void print_summary(const struct report *r)
{
	size_t warned = r->counts[CHECK_WARN], failed = r->counts[CHECK_FAIL];
	unsigned long long ms = (unsigned long long)(loop_now_ms() - r->began_ms);
	if (failed)
		printf("\n  %zu of %zu checks failed (%llu ms): follow the advice above, then run husk doctor again.\n\n",
		       failed, r->counts[CHECK_OK] + warned + failed, ms);
	else
		printf("\n  All is well%s (%zu checks, %llu ms).\n\n", warned ? " except for what is marked above" : "",
		       r->counts[CHECK_OK] + warned, ms);
}

int doctor_run(const struct options *options)
{
	struct loop *loop = loop_new();
	struct report r = { .loop = loop, .json = options->json, .checks = json_array(), .began_ms = loop_now_ms() };
	look_at_terminal(&r);
	if (!r.json)
		printf("\n  Husk %s\n\n", HUSK_VERSION);
	struct signals *signals = signals_new(loop, on_signal, loop);
	struct doctor *doctor = doctor_new(loop, &(struct doctor_request){
							 .env_file = options->env_file,
							 .try_sessions = options->probe,
							 .verbose = options->verbose,
							 .on_check = on_check,
							 .on_done = on_done,
							 .ctx = &r,
						 });
	int code = loop_run(loop);
	doctor_free(doctor);
	signals_free(signals);
	loop_free(loop);
	if (code != EXIT_SYSTEM && r.json)
		print_json(&r);
	else if (code != EXIT_SYSTEM)
		print_summary(&r);
	json_decref(r.checks);
	return code;
}
