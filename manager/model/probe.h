/* The report of husk-probe on a session: each act that was tried, and whether it was refused. */
#ifndef HUSK_MANAGER_MODEL_PROBE_H
#define HUSK_MANAGER_MODEL_PROBE_H

#include "base/fail.h"

/* An error counts as a refusal only if husk-probe lists it as one for this act. */
enum probe_verdict {
	ACT_HELD,
	ACT_OPEN,    /* it worked, or got past everything that should have refused it */
	ACT_UNSURE,  /* it failed in a way that proves nothing; SESSION_PROBE=require treats this as not proven */
	ACT_NO_PEER, /* there was no other session to try it on, which does not count against this one */
	N_PROBE_VERDICTS,
};

struct probe_report {
	struct probe_act {
		enum probe_verdict verdict;
		char *group, *name;
		char *why; /* "EPERM", "no-effect"; for an open act "worked", or an error that shows it was not refused */
	} * v;
	size_t n;
	size_t counts[N_PROBE_VERDICTS];
};

/* Parses the program's output, which is as untrusted as any output of a container. -1 with f if the report is
 * incomplete. */
int probe_read(struct probe_report *ret, const char *text, struct fail *f);
void probe_release(struct probe_report *r);
/* The acts of `group` (NULL = all) with this verdict and the reasons, separated by semicolons. The caller owns it. */
char *probe_name_acts(const struct probe_report *r, const char *group, enum probe_verdict verdict);

#endif
