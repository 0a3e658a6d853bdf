#include "manager/model/remote-fail.h"

/* A sentence without details of the host. NULL = the failure's own sentence has none, and can be shown. */
static const char *neutral_sentence(enum fail_kind kind)
{
	switch (kind) {
	case FAIL_ENGINE:
		return "The container engine of this server failed or does not answer.";
	case FAIL_STORE:
		return "The database of this server does not answer.";
	case FAIL_IMAGE:
		return "This server lacks the image of the language.";
	case FAIL_INTERNAL:
		return "The server failed.";
	default:
		return NULL;
	}
}

void fail_for_client(struct fail *ret, const struct fail *f, bool remote)
{
	const char *neutral = remote ? neutral_sentence(f->kind) : NULL;
	if (!neutral) {
		fail_copy(ret, f);
		return;
	}
	fail_set(ret, f->kind, "%s", neutral);
	fail_hint(ret, "`husk doctor` on the server shows the reason.");
	ret->cause = f->cause;
}
