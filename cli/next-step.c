#include "cli/next-step.h"

#include "manager/manager.h"

#define SET_UP "Run `husk setup`, then `husk doctor`."
#define CHECK_ENGINE "Run `husk doctor` to check the engine."
#define MAKE_ROOM "`husk ps` lists the sessions, `husk stop ID` ends one."

static const char *const steps[CAUSE_COUNT] = {
	[CAUSE_NO_CLIENT] = SET_UP,
	[CAUSE_NO_ENGINE] = SET_UP,
	[CAUSE_NO_IMAGE] = SET_UP,
	[CAUSE_ENGINE_SILENT] = CHECK_ENGINE,
	[CAUSE_ENGINE_REFUSED] = CHECK_ENGINE,
	[CAUSE_NO_ANSWER] = CHECK_ENGINE,

	[CAUSE_NO_SESSION] = "`husk ps` lists the sessions.",
	[CAUSE_OTHER_SERVER] = "`husk stop ID` ends it anyway.",
	[CAUSE_LIMIT_SESSIONS] = MAKE_ROOM,
	[CAUSE_LIMIT_CONVERSATION_SESSIONS] = MAKE_ROOM,
	[CAUSE_LIMIT_CONVERSATIONS] = MAKE_ROOM,

	[CAUSE_ATTACH_OFF] = "End that program and attach again. For a server, set HUSK_ATTACH=on and restart it.",
	[CAUSE_OTHER_VERSION] = "Use the `husk` of the same version, or restart that server with this one.",
	[CAUSE_NO_SERVER] = "Attach again: a session keeps running without its server until its lease ends.",

	[CAUSE_NOT_EXPORTED] = "`husk exports` lists what was exported.",
};

const char *next_step_for_person(const struct fail *f)
{
	return steps[cause_of(f)];
}
