/* What husk-probe reports of a session: everything that was tried, and whether it held. */
#ifndef HUSK_MANAGER_MODEL_PROBE_H
#define HUSK_MANAGER_MODEL_PROBE_H

#include "base/fail.h"

struct probe_report {
	struct probe_act {
		bool held;
		char *group, *name;
		char *why; /* "EPERM", "no effect"; of one that did not hold: "it worked" */
	} * v;
	size_t n;
	size_t open; /* how many did not hold */
};

/* Reads the program's output, which is a container's like any other. -1 with f if it is not a whole report. */
int probe_read(struct probe_report *ret, const char *text, struct fail *f);
void probe_release(struct probe_report *r);
/* The acts that did not hold, separated by semicolons. The caller owns it. */
char *probe_open_acts(const struct probe_report *r);

#endif
