#include "manager/model/state.h"

const char *session_state_name(enum session_state state)
{
	static const char *const names[] = {
		[SESSION_STARTING] = "starting", [SESSION_WARM] = "warm",	  [SESSION_ADOPTING] = "adopting",
		[SESSION_READY] = "running",	 [SESSION_STOPPING] = "stopping", [SESSION_DEAD] = "dead",
	};
	return names[state];
}

static const char *const rows[] = {
	[ROW_STARTING] = "starting",
	[ROW_RUNNING] = "running",
	[ROW_WARM] = "warm",
	[ROW_ENDED] = "ended",
};

const char *row_state_name(enum row_state state)
{
	return rows[state];
}

enum row_state row_state_find(const char *name)
{
	for (int i = ROW_STARTING; name && i < (int)ARRAY_LEN(rows); i++)
		if (streq(rows[i], name))
			return (enum row_state)i;
	return ROW_ENDED;
}
