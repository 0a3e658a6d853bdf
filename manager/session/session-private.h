/* The struct of a session, for its own files. */
#ifndef HUSK_MANAGER_SESSION_SESSION_PRIVATE_H
#define HUSK_MANAGER_SESSION_SESSION_PRIVATE_H

#include "manager/line/line.h"
#include "manager/model/token.h"
#include "manager/session/session.h"

struct session {
	char id[TOKEN_SIZE];
	char *container;
	char *mark;		  /* label of its container; NULL = it has none */
	char *store;		  /* likewise, if the session was adopted; NULL = this process started it */
	bool own;		  /* the container is known to belong to this session */
	bool stops;		  /* stop as soon as that is known */
	struct session_spec spec; /* do not read its strings */
	char *image;
	enum session_state state;
	bool lost;
	bool unclaimed; /* warm: no claim was requested yet */
	bool claimed;	/* PID 1 knows its session and conversation */
	bool kernel_up;
	struct fail death;
	uint64_t epoch;
	uint64_t created_ms;
	uint64_t ends_ms; /* end of its maximum lifetime; 0 = none, or not known yet */
	uint64_t oom_ms;
	uint64_t look_until_ms; /* when an adoption is given up because the engine does not answer */
	struct engine_task *task;
	struct transport *transport; /* used by the line */
	struct line *line;
	struct timer *deadline;
	struct engine_query *query; /* asks how the container ended, if the engine sends no events */
	struct fail ending;	    /* PID 1's reason for ending by itself, or an event during the create */
	char container_id[65];	    /* "" = not known yet */
	char ending_id[65];	    /* container of that event */
	struct fail unexplained;    /* a death whose cause the owner is looking up; kind 0 = none */
	uint64_t engine_away_ms;    /* when the engine was last unreachable; 0 = never */
};

#endif
