#include "cli/verify.h"

#include <jansson.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/utf8.h"
#include "cli/exit.h"
#include "cli/report.h"
#include "manager/manager.h"

struct verifying {
	const struct options *options;
	struct config config;
	struct loop *loop;
	json_t *findings;
	uint64_t sessions, records, uncovered, pruned, more;
	struct fail fail;
};

/* Cleans text so that it stays on one line, whatever the database contains. */
static json_t *text(const char *s)
{
	AUTO(buf_release) struct buf clean = { 0 };
	utf8_clean(&clean, s, strlen(s));
	for (size_t i = 0; i < clean.len; i++)
		if (clean.data[i] < ' ')
			clean.data[i] = '?';
	return json_stringn(buf_str(&clean), clean.len);
}

static void on_verdict(void *ctx, const char *session, const struct log_verdict *verdict)
{
	struct verifying *v = ctx;
	v->sessions += *session != '\0';
	v->records += verdict->records;
	v->uncovered += verdict->uncovered;
	v->pruned += verdict->pruned;
	v->more += verdict->more;
	for (size_t i = 0; i < verdict->n; i++) {
		const struct log_finding *f = &verdict->v[i];
		json_array_append_new(v->findings, json_pack("{s:s, s:o, s:s, s:o}", "fault", log_fault_name(f->fault),
							     "session", *session ? text(session) : json_null(),
							     "record", f->record, "item", text(f->item)));
	}
}

static void on_done(void *ctx, const struct fail *f)
{
	struct verifying *v = ctx;
	if (f)
		fail_copy(&v->fail, f);
	loop_stop(v->loop, 0);
}

static const char *explain(enum log_fault fault)
{
	switch (fault) {
	case LOG_CHANGED:
		return "was changed";
	case LOG_REMOVED:
		return "was removed";
	case LOG_ADDED:
		return "was not written by Husk";
	case LOG_BROKEN:
		return "does not follow from the one before it";
	case LOG_HEAD:
		return "is missing or was changed";
	case LOG_TOMBSTONE:
		return "was not written by Husk";
	case LOG_RESTARTED:
		return "was removed and started again";
	case LOG_GAP:
		return "is missing: the database dropped it, or it was lost with a killed server";
	case LOG_SCHEMA:
		return "is not part of Husk's schema, and may drop or change records";
	case N_LOG_FAULTS:
		break;
	}
	return "";
}

/* The subject of a finding that is not about a record. */
static const char *part_of_chain(enum log_fault fault)
{
	switch (fault) {
	case LOG_BROKEN:
		return "link";
	case LOG_HEAD:
		return "the head of the chain";
	case LOG_TOMBSTONE:
		return "the tombstone";
	case LOG_ADDED:
		return "records without a link:";
	default:
		return "the chain";
	}
}

static enum log_fault fault_of(const json_t *finding)
{
	const char *name = json_string_value(json_object_get(finding, "fault"));
	enum log_fault fault = 0;
	while (fault + 1 < N_LOG_FAULTS && !streq(name, log_fault_name(fault)))
		fault++;
	return fault;
}

static void print_finding(const json_t *finding)
{
	enum log_fault fault = fault_of(finding);
	const char *session = json_string_value(json_object_get(finding, "session"));
	const char *record = json_string_value(json_object_get(finding, "record"));
	const char *item = json_string_value(json_object_get(finding, "item"));
	if (session)
		printf("session %s: ", session);
	printf("%s%s%s %s\n", *record ? record : part_of_chain(fault), *item ? " " : "", item, explain(fault));
}

static void print_lines(const struct verifying *v)
{
	size_t i;
	json_t *finding;
	json_array_foreach(v->findings, i, finding)
		print_finding(finding);
	if (v->more)
		printf("… and %llu more.\n", (unsigned long long)v->more);
	if (json_array_size(v->findings))
		puts("The log is not intact. If servers with different keys share this store, set\n"
		     "ENCRYPTION_KEY to the key that wrote the log.");
	else
		puts("The log is intact.");
	printf("%llu records of %llu sessions are unchanged", (unsigned long long)v->records,
	       (unsigned long long)v->sessions);
	if (v->pruned)
		printf("; %llu were pruned by Husk", (unsigned long long)v->pruned);
	if (v->uncovered)
		printf("; %llu were written before the log had a chain", (unsigned long long)v->uncovered);
	puts(".");
}

static void print_json(const struct verifying *v)
{
	json_auto_t *object = json_pack("{s:b, s:I, s:I, s:I, s:I, s:O, s:I}", "ok", !json_array_size(v->findings),
					"sessions", (json_int_t)v->sessions, "records", (json_int_t)v->records,
					"uncovered", (json_int_t)v->uncovered, "pruned", (json_int_t)v->pruned,
					"findings", v->findings, "more", (json_int_t)v->more);
	json_dumpf(object, stdout, JSON_INDENT(2));
	putchar('\n');
}

static int report(const struct verifying *v)
{
	bool good = json_array_size(v->findings) == 0;
	if (v->fail.kind)
		return report_fail(&v->fail);
	if (v->options->session && good && !v->records && !v->uncovered && !v->pruned) {
		log_error("cannot verify session '%s': the log has no record of it", v->options->session);
		return EXIT_NO;
	}
	(v->options->json ? print_json : print_lines)(v);
	return good ? EXIT_DONE : EXIT_NO;
}

static void verify(struct verifying *v)
{
	v->loop = loop_new();
	struct manager *manager = manager_new(v->loop, &v->config);
	if (manager_verify(
		    manager,
		    &(struct verify_request){
			    .session_id = v->options->session, .on_verdict = on_verdict, .on_done = on_done, .ctx = v },
		    &v->fail))
		loop_run(v->loop);
	manager_free(manager);
	loop_free(v->loop);
}

int verify_run(const struct options *options)
{
	struct verifying v = { .options = options, .findings = json_array() };
	int code = EXIT_USAGE;
	if (settings_load(&v.config, options->env_file, &v.fail) == 0) {
		verify(&v);
		code = report(&v);
	} else {
		code = report_refusal(&v.fail, options->verb);
	}
	json_decref(v.findings);
	fail_release(&v.fail);
	config_release(&v.config);
	return code;
}
