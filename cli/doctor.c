#include "cli/doctor.h"

#include <assert.h>
#include <jansson.h>

#include "base/loop.h"
#include "cli/columns.h"
#include "cli/exit.h"
#include "manager/json/codec.h"

#define NAME_WIDTH 18
static_assert(sizeof("probe capabilities") - 1 <= NAME_WIDTH, "no name is shortened");

struct report {
	struct loop *loop;
	struct style style;
	bool json;
	json_t *checks;
	size_t counts[CHECK_FAIL + 1];
	uint64_t began_ms;
};

static const char *mark(const struct report *r, enum check_status status)
{
	static const char *const unicode[] = { "✓", "!", "✗" }, *const ascii[] = { "ok  ", "warn", "FAIL" };
	return r->style.unicode ? unicode[status] : ascii[status];
}

/* Each check is printed when it ends, so the columns have fixed widths. Sentences are wrapped. The words of a fix are
 * never shortened, because people copy them. */
static void print_check(const struct report *r, const struct check *check)
{
	static const enum paint paints[] = {
		[CHECK_OK] = PAINT_GOOD, [CHECK_WARN] = PAINT_WARN, [CHECK_FAIL] = PAINT_BAD
	};
	const struct style *s = &r->style;
	const char *shown = mark(r, check->status), *arrow = s->unicode ? "→ " : "-> ";
	enum paint paint = paints[check->status];
	size_t text_column = 2 + columns_width(shown) + 1 + NAME_WIDTH + 1;
	AUTO(buf_release) struct buf name = { 0 };
	columns_shorten(&name, s, check->name, NAME_WIDTH);
	printf("  %s%s%s %s%*s ", style_paint(s, paint), shown, style_plain(s, paint), buf_str(&name),
	       (int)(NAME_WIDTH - columns_width(buf_str(&name))), "");
	columns_wrap(stdout, s, check->detail, text_column, /* whole= */ false);
	if (check->fix) {
		printf("%*s%s", (int)text_column, "", arrow);
		columns_wrap(stdout, s, check->fix, text_column + columns_width(arrow), /* whole= */ true);
	}
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
	json_array_append_new(r->checks, check_encode(check));
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
	json_auto_t *object = checks_encode(r->checks, /* ok= */ r->counts[CHECK_FAIL] == 0);
	json_dumpf(object, stdout, JSON_INDENT(2));
	putchar('\n');
}

static void print_summary(const struct report *r)
{
	size_t warned = r->counts[CHECK_WARN], failed = r->counts[CHECK_FAIL];
	unsigned long long ms = (unsigned long long)(loop_now_ms() - r->began_ms);
	if (failed)
		printf("\n  %zu of %zu checks failed (%llu ms).\n"
		       "  Follow the advice above, then run husk doctor again.\n\n",
		       failed, r->counts[CHECK_OK] + warned + failed, ms);
	else
		printf("\n  All is well%s (%zu checks, %llu ms).\n\n", warned ? " apart from the warnings above" : "",
		       r->counts[CHECK_OK] + warned, ms);
}

int doctor_run(const struct options *options)
{
	struct loop *loop = loop_new();
	struct report r = { .loop = loop, .json = options->json, .checks = json_array(), .began_ms = loop_now_ms() };
	r.style = style_of(STDOUT_FILENO);
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
