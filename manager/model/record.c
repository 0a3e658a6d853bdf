#include "manager/model/record.h"

const char *journal_kind_name(enum journal_kind kind)
{
	static const char *const names[] = {
		[JOURNAL_SESSION_CREATED] = "session.created",
		[JOURNAL_SESSION_CLAIMED] = "session.claimed",
		[JOURNAL_SESSION_ADOPTED] = "session.adopted",
		[JOURNAL_SESSION_ENDED] = "session.ended",
		[JOURNAL_RUN_QUEUED] = "run.queued",
		[JOURNAL_RUN_STARTED] = "run.started",
		[JOURNAL_RUN_OUTPUT] = "run.output",
		[JOURNAL_RUN_DISPLAY] = "run.display",
		[JOURNAL_RUN_CLEARED] = "run.cleared",
		[JOURNAL_RUN_PROMPT] = "run.prompt",
		[JOURNAL_RUN_ANSWERED] = "run.answered",
		[JOURNAL_RUN_ENDED] = "run.ended",
		[JOURNAL_FILES_IMPORTED] = "files.imported",
		[JOURNAL_FILES_EXPORTED] = "files.exported",
		[JOURNAL_CHECKPOINT_SAVED] = "checkpoint.saved",
		[JOURNAL_CHECKPOINT_RESTORED] = "checkpoint.restored",
		[JOURNAL_CHECKPOINT_DROPPED] = "checkpoint.dropped",
		[JOURNAL_BRANCH_MADE] = "branch.made",
		[JOURNAL_BRANCH_KEPT] = "branch.kept",
		[JOURNAL_NETWORK] = "network.connection",
		[JOURNAL_LIMIT_REACHED] = "limit.reached",
		[JOURNAL_GAP] = "gap",
	};
	return names[kind];
}

const char *record_state_name(enum record_state state)
{
	static const char *const names[] = {
		[RECORD_QUEUED] = "queued",
		[RECORD_RUNNING] = "running",
		[RECORD_WAITING] = "waiting",
		[RECORD_ENDED] = "ended",
	};
	return names[state];
}
