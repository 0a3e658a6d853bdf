/* What husk-probe reports of a session: everything that was tried, and whether it held. */
#ifndef HUSK_MANAGER_MODEL_PROBE_H
#define HUSK_MANAGER_MODEL_PROBE_H

#include "base/fail.h"

/* An error counts as held only if the act names it as a refusal. */
enum probe_verdict {
	ACT_HELD,
	ACT_OPEN,    /* it worked, or got past everything that should have refused it */
	ACT_UNSURE,  /* it failed in a way that proves nothing: SESSION_PROBE=require counts this as not proven */
	ACT_NO_PEER, /* no other session was there to try it on; that is no fault of this one */
	N_PROBE_VERDICTS,
};

struct probe_report {
	struct probe_act {
		enum probe_verdict verdict;
		char *group, *name;
		char *why; /* "EPERM", "no-effect"; of one that is open "worked", or an error from behind the refusal */
	} * v;
	size_t n;
	size_t counts[N_PROBE_VERDICTS];
};

/* Reads the program's output, which is a container's like any other. -1 with f if it is not a whole report. */
int probe_read(struct probe_report *ret, const char *text, struct fail *f);
void probe_release(struct probe_report *r);
/* The acts of `group` (NULL = of all) with this verdict and why, separated by semicolons. The caller owns it. */
char *probe_name_acts(const struct probe_report *r, const char *group, enum probe_verdict verdict);

#endif
