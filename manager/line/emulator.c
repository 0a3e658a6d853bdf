#include "manager/line/emulator.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/child.h"
#include "base/utf8.h"
#include "manager/line/emulator-protocol.h"

/* Wall-clock limit. The process has 100 ms of CPU time for a feed (emulator-main.c), and the machine may be busy. */
#define ANSWER_MS 3000
#define PROGRAM "husk-emulator"

struct emulator {
	struct emulator_spec spec;
	struct child *child; /* NULL until the first feed */
	struct timer *deadline;
	struct emulator_answer answer; /* being received */
	const char *trouble;	       /* why the last feed could not be passed on; NULL = it was */
	bool busy;
};

/* --- where the program is ------------------------------------------------------------------------------------------ */

/* Relative to the folder of our program or library: first as installed, then as built. */
static const char *const places[] = {
	"../libexec/husk/" PROGRAM, "../../libexec/husk/" PROGRAM, "husk/" PROGRAM, PROGRAM, "../" PROGRAM,
	"../../" PROGRAM,
};

/* In a folder that everybody can write to, the file could belong to another user. */
static bool is_ours(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_uid == 0 || st.st_uid == geteuid()) &&
	       access(path, X_OK) == 0;
}

static char *find_beside(const char *object)
{
	AUTO(freep) char *folder = realpath(object, NULL);
	char *slash = folder ? strrchr(folder, '/') : NULL;
	if (!slash)
		return NULL;
	*slash = '\0';
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		AUTO(freep) char *path = xasprintf("%s/%s", folder, places[i]);
		if (is_ours(path))
			return take_ptr(path);
	}
	return NULL;
}

char *emulator_find(void)
{
	/* This code is in libhusk.so or in a program. The name that dladdr() gives for a program may not be a
	 * path. */
	Dl_info self;
	char *path =
		dladdr((const void *)places, &self) && strchr(self.dli_fname, '/') ? find_beside(self.dli_fname) : NULL;
	if (!path)
		path = find_beside("/proc/self/exe");
	if (!path && is_ours(HUSK_LIBEXEC "/" PROGRAM))
		path = xstrdup(HUSK_LIBEXEC "/" PROGRAM);
	return path;
}

/* --- answers ------------------------------------------------------------------------------------------------------- */

void emulator_reset(struct emulator *e)
{
	e->busy = false;
	e->trouble = NULL;
	timer_stop(e->deadline);
	e->child = child_free(e->child);
	emulator_answer_release(&e->answer);
}

static void fail(struct emulator *e, const char *trouble)
{
	bool busy = e->busy;
	emulator_reset(e);
	if (busy)
		e->spec.on_shown(e->spec.ctx, &(struct shown_screen){ .trouble = trouble });
}

void emulator_answer_release(struct emulator_answer *a)
{
	frame_reader_release(&a->reader);
	free(a->begun);
	buf_release(&a->text);
	buf_release(&a->prompt);
	*a = (struct emulator_answer){ 0 };
}

int emulator_answer_feed(struct emulator_answer *a, const void *data, size_t n)
{
	struct frame frame;
	frame_reader_feed(&a->reader, data, n);
	int r = frame_reader_next(&a->reader, emulator_answer_max, &frame);
	if (r > 0 && frame.header.type == EMULATOR_TEXT && !a->begun) {
		a->begun = xstrndup((const char *)frame.payload, frame.header.length);
		r = frame_reader_next(&a->reader, emulator_answer_max, &frame);
	}
	if (r == 0)
		return 0;
	/* Nothing may follow, because each feed has exactly one answer. */
	if (r < 0 || frame.header.type != EMULATOR_STATE || !a->begun || a->reader.used != a->reader.buf.len)
		return -EPROTO;
	utf8_clean(&a->text, a->begun, strlen(a->begun));
	utf8_clean(&a->prompt, frame.payload, frame.header.length);
	a->application_keys = frame.header.call == EMULATOR_APPLICATION_KEYS;
	return 1;
}

static void on_answer(void *ctx, const void *data, size_t n)
{
	struct emulator *e = ctx;
	int r = e->busy ? emulator_answer_feed(&e->answer, data, n) : -EPROTO;
	if (r < 0) {
		fail(e, "the terminal emulator broke its protocol");
		return;
	}
	if (r == 0)
		return;
	AUTO(emulator_answer_release) struct emulator_answer a = e->answer;
	e->answer = (struct emulator_answer){ 0 };
	e->busy = false;
	timer_stop(e->deadline);
	e->spec.on_shown(e->spec.ctx, &(struct shown_screen){ .text = buf_str(&a.text),
							      .prompt = buf_str(&a.prompt),
							      .application_keys = a.application_keys });
}

static void on_exit_of(void *ctx, const struct child_result *result)
{
	bool slow = result->signal == SIGPROF || result->signal == SIGKILL;
	fail(ctx, slow ? "this output takes the terminal emulator too long to draw" :
			 "the terminal emulator failed on this output");
}

static void on_deadline(void *ctx)
{
	struct emulator *e = ctx;
	fail(e, e->trouble ? e->trouble : "the terminal emulator did not answer in time");
}

/* --- life ---------------------------------------------------------------------------------------------------------- */

struct emulator *emulator_new(const struct emulator_spec *spec)
{
	struct emulator *e = new0(struct emulator);
	e->spec = *spec;
	e->deadline = timer_new(spec->loop, on_deadline, e);
	return e;
}

struct emulator *emulator_free(struct emulator *e)
{
	if (e) {
		emulator_reset(e);
		timer_free(e->deadline);
		free(e);
	}
	return NULL;
}

bool emulator_busy(const struct emulator *e)
{
	return e->busy;
}

static const char *start(struct emulator *e)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *found = e->spec.program ? NULL : emulator_find();
	const char *program = e->spec.program ? e->spec.program : found;
	char rows[16], cols[16];
	snprintf(rows, sizeof(rows), "%d", e->spec.rows);
	snprintf(cols, sizeof(cols), "%d", e->spec.cols);
	if (!program)
		return PROGRAM ", a part of Husk, is not installed";
	const struct child_spec spec = { .argv = (char *[]){ (char *)program, rows, cols, NULL },
					 .env = (char *[]){ NULL },
					 .stdin_pipe = true,
					 .on_stdout = on_answer,
					 .on_done = on_exit_of,
					 .ctx = e };
	return child_start(e->spec.loop, &spec, &e->child, &f) < 0 ? PROGRAM ", a part of Husk, cannot be started" :
								     NULL;
}

void emulator_feed(struct emulator *e, const void *data, size_t n)
{
	AUTO(buf_release) struct buf frame = { 0 };
	size_t dropped = n - MIN(n, (size_t)EMULATOR_FEED_MAX);
	frame_append(&frame, EMULATOR_FEED, (uint32_t)MIN(dropped, (size_t)UINT32_MAX), (const char *)data + dropped,
		     n - dropped);
	e->busy = true;
	e->trouble = e->child ? NULL : start(e);
	if (!e->trouble && child_write(e->child, frame.data, frame.len) < 0)
		e->trouble = "the terminal emulator has ended";
	/* Failures are reported from the loop too, never from inside this function. */
	timer_start(e->deadline, e->trouble ? 0 : ANSWER_MS, 0);
}
