/* The terminal of one interactive command, as a process of its own (emulator-main.c), which starts with the first bytes that are to be
 * shown. The process may hang or crash on what it is given, and what it says is hostile: it has a deadline, its answers are bounded and
 * cleaned, and if it fails, only this screen is lost. */
#ifndef HUSK_MANAGER_LINE_EMULATOR_H
#define HUSK_MANAGER_LINE_EMULATOR_H

#include "base/loop.h"

struct emulator;

struct shown_screen {
	const char *trouble; /* why there is no screen; NULL = there is one. The next feed begins with an empty one */
	const char *text;    /* what is new on it: clean */
	const char *prompt;  /* the line on which somebody would type: clean */
	bool application_keys;
};

struct emulator_spec {
	struct loop *loop;
	const char *program; /* NULL = husk-emulator as it is installed or built beside this code; must outlive it */
	int rows, cols;
	/* Once for each emulator_feed(), from the loop, unless emulator_reset() or emulator_free() comes first. Both may be called
	 * inside. */
	void (*on_shown)(void *ctx, const struct shown_screen *screen);
	void *ctx;
};

struct emulator *emulator_new(const struct emulator_spec *spec);
/* Accepts NULL, returns NULL. */
struct emulator *emulator_free(struct emulator *e);
/* The bytes are copied. One at a time: not while emulator_busy(). */
void emulator_feed(struct emulator *e, const void *data, size_t n);
bool emulator_busy(const struct emulator *e);
/* What was fed is void: the next feed begins with an empty screen. */
void emulator_reset(struct emulator *e);

/* The path of husk-emulator; NULL if it is not installed. The caller frees it. */
char *emulator_find(void);

#endif
