/* mcp/next-step and cli/report: each face words its own next step with its own tools or verbs. */
#include "tests/unit/unit.h"

#include <ctype.h>

#include "base/alloc.h"
#include "cli/report.h"
#include "mcp/next-step.h"
#include "mcp/tools.h"

static void expect_fail(enum fail_kind kind, enum cause cause, const char *hint, bool listed, const char *want)
{
	AUTO(fail_release) struct fail f = { 0 };
	cause_set(&f, kind, cause, "it failed");
	if (hint)
		fail_hint(&f, "%s", hint);
	AUTO(freep) char *got = next_step_after_fail(&f, listed, /* remote= */ false);
	if (want)
		assert_string_equal(got, want);
	else
		assert_null(got);
}

static void a_hint_comes_before_the_step(void **state)
{
	expect_fail(FAIL_TIMEOUT, CAUSE_STALLED, "Its disk may be slow.", false,
		    "Its disk may be slow. Check what is running with execute_terminal, and try again.");
	expect_fail(FAIL_TIMEOUT, CAUSE_STALLED, NULL, false,
		    "Check what is running with execute_terminal, and try again.");
	expect_fail(FAIL_STORE, CAUSE_NONE, "Make room on its disk.", false, "Make room on its disk.");
	expect_fail(FAIL_STORE, CAUSE_NONE, NULL, false, NULL);
	/* A hint or a cause is more specific than the kind. */
	expect_fail(FAIL_INVALID, CAUSE_NONE, NULL, false, "Correct the arguments and call again.");
	expect_fail(FAIL_INVALID, CAUSE_TOO_LONG, NULL, false, "Put it into a file with import_files and run that.");
	expect_fail(FAIL_NOT_FOUND, CAUSE_NO_SESSION, NULL, true, "Use one of the active session_ids listed above.");
	expect_fail(FAIL_NOT_FOUND, CAUSE_NO_SESSION, NULL, false, "No active sessions. Call create_session first.");
	expect_fail(FAIL_LIMIT, CAUSE_LIMIT_SESSIONS, "X sets the limit.", true,
		    "X sets the limit. Use one of the active sessions, or end one with stop_session.");
	expect_fail(FAIL_LIMIT, CAUSE_LIMIT_CONVERSATIONS, "X sets the limit.", false,
		    "X sets the limit. The sessions belong to other conversations: ask the user to end one or "
		    "try again later.");
	expect_fail(FAIL_FOREIGN, CAUSE_OTHER_CONVERSATION, NULL, false,
		    "No active sessions. Call create_session first.");
}

static void a_hint_names_husk_by_its_path(void **state)
{
	AUTO(freep) char *self = realpath("/proc/self/exe", NULL);
	AUTO(freep) char *want = xasprintf(
		"run `husk setup` (`husk` is %s). Ask the user to do this, then call create_session again.", self);
	expect_fail(FAIL_IMAGE, CAUSE_NO_IMAGE, "run `husk setup`", false, want);
}

/* Every word that looks like a tool's name is the name of a tool. */
static void check_tools(const char *text)
{
	static const char *const others[] = { "session_ids", "_exit" };
	char word[64];
	for (const char *p = text; *p;) {
		size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyz_");
		snprintf(word, sizeof(word), "%.*s", (int)n, p);
		bool known = !strchr(word, '_') || tools_find(word);
		for (size_t i = 0; i < ARRAY_LEN(others); i++)
			known = known || streq(word, others[i]);
		if (!known && !isupper((unsigned char)p[n]))
			fail_msg("'%s' is no tool, in: %s", word, text);
		p += n ? n : 1;
	}
}

static void steps_for_models_name_existing_tools(void **state)
{
	for (enum cause cause = CAUSE_NONE + 1; cause < CAUSE_COUNT; cause++) {
		AUTO(fail_release) struct fail f = { 0 };
		cause_set(&f, FAIL_BUSY, cause, "it failed");
		AUTO(freep) char *step = next_step_after_fail(&f, false, false);
		if (step) {
			check_tools(step);
			assert_null(strstr(step, "husk "));
		}
		for (enum ending ending = ENDING_OK; ending <= ENDING_SESSION_LOST; ending++) {
			struct run_result run = { .ending = ending,
						  .stdout_text = (char *)"",
						  .stderr_text = (char *)"" };
			AUTO(freep) char *after = next_step_after_run(&run, &(struct run_terms){ .cause = cause });
			if (after)
				check_tools(after);
		}
	}
}

/* A session's end always has a next step. */
static void every_end_of_a_session_has_a_step(void **state)
{
	for (enum cause cause = CAUSE_STOPPED; cause <= CAUSE_HALF_MADE; cause++) {
		AUTO(fail_release) struct fail f = { 0 };
		cause_set(&f, FAIL_DIED, cause, "it ended");
		AUTO(freep) char *step = next_step_after_fail(&f, false, false);
		assert_non_null(strstr(step, "create_session"));
	}
}

static void expect_run(struct run_result run, struct run_terms terms, const char *want)
{
	run.stdout_text = (char *)"";
	run.stderr_text = run.stderr_text ? run.stderr_text : (char *)"";
	AUTO(freep) char *got = next_step_after_run(&run, &terms);
	if (!want)
		assert_null(got);
	else if (!got || !strstr(got, want))
		fail_msg("'%s' does not say '%s'", got ? got : "(nothing)", want);
}

static void steps_after_a_run(void **state)
{
	const struct run_terms cell = { .timeout_seconds = 5 }, command = { .terminal = true, .timeout_seconds = 300 };
	const struct run_terms lost = { .cause = CAUSE_NO_ANSWER }, stopped = { .cause = CAUSE_STOPPED };
	expect_run((struct run_result){ .ending = ENDING_OK }, cell, NULL);
	expect_run((struct run_result){ .ending = ENDING_ERROR }, cell, NULL);
	expect_run(
		(struct run_result){ .ending = ENDING_TIMEOUT }, cell,
		"Variables, imports and files are kept. Raise `timeout` (at most 300, this was 5), use `wait` to get an early answer while it runs, or split the work");
	expect_run((struct run_result){ .ending = ENDING_TIMEOUT, .kernel_restarted = true }, cell,
		   "variables and imports are gone");
	expect_run((struct run_result){ .ending = ENDING_TIMEOUT }, command,
		   "use `wait` to get an early answer while it runs, or run it in the background");
	expect_run((struct run_result){ .ending = ENDING_TIMEOUT }, (struct run_terms){ 0 },
		   "(at most 300), use `wait`");
	expect_run((struct run_result){ .ending = ENDING_INTERRUPTED }, cell, "Variables, imports and files are kept.");
	expect_run((struct run_result){ .ending = ENDING_INTERRUPTED }, stopped,
		   "gone with its variables and files. Call create_session");
	expect_run((struct run_result){ .ending = ENDING_OOM, .memory_limit = 256u << 20, .memory_files = 64u << 20 },
		   cell, "more than the memory limit of 256 MiB, of which files in /workspace and /tmp take 64 MiB");
	expect_run((struct run_result){ .ending = ENDING_OK, .oom_kills = 1 }, command,
		   "It needed more than the memory limit. Work on smaller pieces");
	/* PID 1 has reported the memory limit and the lost variables. */
	AUTO(freep) char *oom = next_step_after_run(
		&(struct run_result){ .ending = ENDING_OOM,
				      .kernel_restarted = true,
				      .memory_limit = 256u << 20,
				      .detail = (char *)"The memory limit of 256 MiB was reached." },
		&cell);
	assert_ptr_equal(strstr(oom, "Work on smaller pieces"), oom);
	expect_run((struct run_result){ .ending = ENDING_KERNEL_DIED, .kernel_restarted = true }, cell,
		   "what ended the process");
	expect_run((struct run_result){ .ending = ENDING_CONTAINER_DIED }, cell,
		   "Never re-run the same code unchanged");
	expect_run((struct run_result){ .ending = ENDING_OOM, .kernel_gone = true }, cell,
		   "Call stop_session, then create_session");
	expect_run((struct run_result){ .ending = ENDING_SESSION_LOST }, lost, "or be running");
	expect_run((struct run_result){ .ending = ENDING_ERROR, .stderr_text = (char *)"cp: No space left on device" },
		   command, "name them in `dependencies`");
}

static void expect_hint(bool offline, const char *type, const char *text, const char *want)
{
	struct run_result run = { .ending = ENDING_ERROR, .offline = offline };
	run.error_type = (char *)type;
	run.error_message = type ? (char *)text : NULL;
	run.stderr_text = type ? NULL : (char *)text;
	expect_run(run, (struct run_terms){ .terminal = !type }, want);
}

static void errors_that_need_a_hint(void **state)
{
	expect_hint(false, "ModuleNotFoundError", "No module named 'sklearn.svm'",
		    "Install it (pip install scikit-learn), or name it in `dependencies`");
	expect_hint(true, "ModuleNotFoundError", "No module named 'sklearn'",
		    "This session has no network, so nothing can be installed in it: call create_session with "
		    "`dependencies`: {\"scikit-learn\": \"\"}");
	expect_hint(false, "ModuleNotFoundError", "No module named '; rm -rf'", NULL);
	expect_hint(false, NULL, "Error: Cannot find module '@a/b'\n", "(npm install @a/b)");
	expect_hint(false, NULL, "Error: Cannot find module './mine'\n", NULL);
	expect_hint(false, "Error", "Cannot find module 'x'", "(npm install x)");
	expect_hint(false, "Error", "Cannot find module 'lodash/fp'", "(npm install lodash)");
	expect_hint(false, "Error", "Cannot find module '@a/b/c'", "(npm install @a/b)");
	expect_hint(false, "Error", "Cannot find module 'socket.io'", "(npm install socket.io)");
	expect_hint(false, "Error", "Cannot find module '/workspace/x'", NULL);
	expect_hint(true, "Error", "Cannot find package '@a/b' imported from /workspace/",
		    "call create_session with `dependencies`: {\"@a/b\": \"\"}");
	expect_hint(false, "packageNotFoundError", "there is no package called ‘zoo’", "install.packages(\"zoo\")");
	expect_hint(false, NULL,
		    "E: Could not open lock file /var/lib/dpkg/lock-frontend - open (13: Permission denied)",
		    "apt cannot be used");
	/* A session without a network is not told to install something in it. */
	expect_hint(true, NULL,
		    "E: Could not open lock file /var/lib/dpkg/lock-frontend - open (13: Permission denied)",
		    "apt cannot be used, and this session has no network: call create_session and name packages in "
		    "`dependencies`.");
	expect_hint(false, NULL, "/usr/bin/python3: No module named black\n", "(pip install black)");
	expect_hint(false, NULL, "/usr/bin/python3: No module named sklearn.svm\n", "(pip install scikit-learn)");
	expect_hint(false, NULL, "/usr/bin/python3: No module named json.__main__; 'json' is a package\n", NULL);
	expect_hint(true, "URLError", "<urlopen error [Errno -3] Temporary failure in name resolution>",
		    "This session has no network. Call create_session with network: true");
	expect_hint(false, "URLError", "<urlopen error [Errno -3] Temporary failure in name resolution>", NULL);
	expect_hint(false, "FileNotFoundError", "[Errno 2] No such file or directory: '/Users/me/sales.csv'",
		    "bring the file in with import_files");
	expect_hint(false, NULL, "cat: /mnt/data/x: No such file or directory", "import_files");
	expect_hint(false, NULL, "cat: /home/sandbox/x: No such file or directory", NULL);
}

/* R's warning and the cause of a Node error have the reason, not the message. Warnings of other errors are not read. */
static void reasons_outside_the_message_are_found(void **state)
{
	static const struct run_terms cell;
	struct run_result run = { .ending = ENDING_ERROR,
				  .offline = true,
				  .error_type = (char *)"simpleError",
				  .error_message = (char *)"cannot open the connection",
				  .stderr_text = (char *)"  URL 'http://x/': status was 'Could not resolve hostname'" };
	expect_run(run, cell, "This session has no network. ");
	run.stderr_text = (char *)"  cannot open file '/Users/me/x.csv': No such file or directory";
	expect_run(run, cell, "bring the file in with import_files");
	run.error_message = (char *)"object 'x' not found";
	expect_run(run, cell, NULL);
	run.error_message = (char *)"fetch failed";
	expect_run(run, cell, NULL);
	run.error_traceback = (char *)"  [cause]: Error: getaddrinfo EAI_AGAIN example.org";
	expect_run(run, cell, "This session has no network. ");
	run.offline = false;
	expect_run(run, cell, NULL);
	run = (struct run_result){ .ending = ENDING_OK,
				   .stderr_text = (char *)"Warning: unable to access index for repository https://x" };
	expect_run(run, cell, NULL);
	run.offline = true;
	expect_run(run, cell, "name packages in `dependencies`");
}

/* Every verb that is named exists, and no tool is named. */
static void steps_for_people_name_existing_verbs(void **state)
{
	for (enum cause cause = CAUSE_NONE; cause < CAUSE_COUNT; cause++) {
		const char *step = report_next_step(&(struct fail){ .cause = cause });
		for (size_t i = 0; step && tools_nth(i); i++)
			assert_null(strstr(step, tools_nth(i)->name));
		for (const char *p = step ? strstr(step, "`husk ") : NULL; p; p = strstr(p + 1, "`husk ")) {
			char verb[32];
			struct options o;
			AUTO(fail_release) struct fail f = { 0 };
			snprintf(verb, sizeof(verb), "%.*s", (int)strcspn(p + 6, " `"), p + 6);
			int r = options_parse(&o, 2, (char *[]){ (char *)"husk", verb, NULL }, &f);
			if (r < 0 && strncmp(f.message, "unknown verb", 12) == 0)
				fail_msg("no verb '%s', in: %s", verb, step);
		}
	}
	assert_non_null(report_next_step(&(struct fail){ .cause = CAUSE_NO_ENGINE }));
	assert_null(report_next_step(&(struct fail){ .cause = CAUSE_NONE }));
	assert_null(report_next_step(&(struct fail){ .cause = 100000 }));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hint_comes_before_the_step),
		cmocka_unit_test(a_hint_names_husk_by_its_path),
		cmocka_unit_test(steps_for_models_name_existing_tools),
		cmocka_unit_test(every_end_of_a_session_has_a_step),
		cmocka_unit_test(steps_after_a_run),
		cmocka_unit_test(errors_that_need_a_hint),
		cmocka_unit_test(reasons_outside_the_message_are_found),
		cmocka_unit_test(steps_for_people_name_existing_verbs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
