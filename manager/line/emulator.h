/* The terminal of one interactive command, in a separate process (emulator-main.c), which is started for the first
 * bytes to show. The process may hang or crash on its input, and its answers are untrusted. So it has a deadline,
 * its answers are bounded and cleaned, and a failure loses only this screen: the next feed starts with an empty
 * one. */
#ifndef HUSK_MANAGER_LINE_EMULATOR_H
#define HUSK_MANAGER_LINE_EMULATOR_H

#include "base/loop.h"

struct emulator;

struct shown_screen {
	const char *trouble; /* why there is no screen; NULL = there is one */
	const char *text;    /* the new text, cleaned */
	const char *prompt;  /* the line where a user would type, cleaned */
	bool application_keys;
};

struct emulator_spec {
	struct loop *loop;
	const char *program; /* NULL = husk-emulator as installed or built with this code; must outlive the emulator */
	int rows, cols;
	/* Called from the loop, once for each emulator_feed(), unless emulator_reset() or emulator_free() comes
	 * first. The callback may call both. */
	void (*on_shown)(void *ctx, const struct shown_screen *screen);
	void *ctx;
};

struct emulator *emulator_new(const struct emulator_spec *spec);
/* Accepts NULL, returns NULL. */
struct emulator *emulator_free(struct emulator *e);
/* Copies the bytes. Must not be called while emulator_busy(). */
void emulator_feed(struct emulator *e, const void *data, size_t n);
bool emulator_busy(const struct emulator *e);
/* Discards everything fed so far: the next feed starts with an empty screen. */
void emulator_reset(struct emulator *e);

/* The path of husk-emulator; NULL if it is not installed. The caller frees it. */
char *emulator_find(void);

#endif
