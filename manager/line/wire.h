/* The manager's end of the protocol (docs/protocol.md section 1): parses the bytes of a PID 1, which may be
 * hostile, into checked frames, and builds the frames that the manager sends. */
#ifndef HUSK_MANAGER_LINE_WIRE_H
#define HUSK_MANAGER_LINE_WIRE_H

#include "base/buf.h"
#include "base/fail.h"
#include "base/strv.h"
#include "kernels/host-name.h"
#include "kernels/protocol.h"
#include "manager/model/cause.h"
#include "manager/model/result.h"

struct wire {
	struct frame_reader reader;
};

struct wire_frame {
	uint8_t type;
	uint32_t call;
	const uint8_t *payload; /* valid until the next wire_feed() */
	size_t n;
	int *descriptor; /* for a FILE: its descriptor, which the handler may take; -1 if it was lost */
};

void wire_release(struct wire *w);
void wire_feed(struct wire *w, const void *data, size_t n);
/* 1 with *ret, 0 if more bytes are needed, -EPROTO for a type that PID 1 must not send or a size above its limit. */
int wire_next(struct wire *w, struct wire_frame *ret);

/* Hands over the buffer that holds the last frame; its payload does not move. Bytes after the frame are copied. */
void wire_detach(struct wire *w, struct buf *ret);

void wire_put(struct buf *out, enum frame_type type, uint32_t call, const void *payload, size_t n);
void wire_put_hello(struct buf *out, uint64_t epoch);

struct wire_run {
	bool terminal;
	const char *text;
	size_t len;
	uint64_t timeout_ms;
	uint64_t stdout_limit, stderr_limit; /* bytes */
	uint64_t keep_over;		     /* PID 1 keeps text of more bytes than this in the session */
	const struct strv *env;		     /* NAME=value; NULL = none */
	const char *cwd;		     /* NULL = none */
	const char *branch;		     /* for a cell; NULL = the main interpreter */
	bool restart;			     /* for a cell: start a new interpreter */
	bool interactive;		     /* may prompt */
	int rows, cols;			     /* terminal of an interactive command; 0 = PID 1's default */
	const char *by;			     /* the program that starts it; NULL = unknown */
	bool detached;
};
/* The text must be valid UTF-8. -1 if it is not, or is too long for a frame. */
int wire_put_run(struct buf *out, uint32_t call, const struct wire_run *run);

struct wire_files {
	bool export;
	const char *path;	 /* in the session: what to export, or where the import goes */
	uint64_t bytes, entries; /* import: the totals that will follow */
	const char *into;	 /* import: name below `path` if that is a directory; NULL = none */
};
/* -1 if the path is not valid UTF-8. */
int wire_put_files(struct buf *out, uint32_t call, const struct wire_files *files);
/* The end of a transfer: 0 on success, else -1 with f filled from PID 1's message, cleaned. Adds PID 1's notices,
 * up to a limit. *ret_below (may be NULL): whether an import was placed below its path, under the name `into`. */
int wire_read_files_end(const struct wire_frame *frame, struct strv *notices, bool *ret_below, struct fail *f);

/* A request about files in place, for a PID 1 whose hello says that it supports them. */
struct wire_file_request {
	enum frame_type type; /* FRAME_FILES_… */
	const char *path;     /* bytes, absolute and normalized */
	const char *after;    /* LIST: the name before the page, as bytes; NULL = none */
	size_t limit;	      /* LIST */
	bool recursive;	      /* DELETE */
	const char *tag;      /* DELETE, WRITE: the expected version; NULL = any */
	bool whole;	      /* READ: a large file may come as a descriptor */
	bool absent;	      /* WRITE: there must be no such file */
	uint64_t bytes;	      /* WRITE: the size that was announced; 0 = unknown */
};
/* -1 if it is too long, or the tag is not valid UTF-8. */
int wire_put_file_request(struct buf *out, uint32_t call, const struct wire_file_request *req);
struct wire_request_end {
	uint64_t total; /* LIST: names in the directory */
	bool more;	/* LIST: there are more pages */
	bool created;	/* MAKE, WRITE: there was nothing before */
};
/* 0 on success, else -1 with f filled from PID 1's cause and message. */
int wire_read_request_end(const struct wire_frame *frame, struct wire_request_end *ret, struct fail *f);

struct wire_console {
	const struct strv *command; /* empty = a shell */
	bool pipes;		    /* three pipes instead of a terminal */
	const char *cwd;	    /* NULL = that of the last command */
	const struct strv *env;	    /* NAME=value, in addition to the session's; NULL = none */
	const char *term;	    /* NULL = the default */
	int rows, cols;
};
/* -1 if a word is not valid UTF-8, or the words are too long together. */
int wire_put_console(struct buf *out, uint32_t call, const struct wire_console *console);
void wire_put_console_size(struct buf *out, uint32_t call, int rows, int cols);
void wire_put_credit(struct buf *out, uint32_t call, uint32_t n);
/* Bytes that PID 1 has processed; -1 if the frame is malformed. */
int wire_read_credit(const struct wire_frame *frame, uint32_t *ret);

/* A connection to a port of the session, for a PID 1 whose hello says that it supports streams. */
void wire_put_stream_open(struct buf *out, uint32_t number, uint16_t port);
void wire_put_stream_credit(struct buf *out, uint32_t number, uint32_t n);
/* Why there is no connection. */
enum wire_refusal {
	WIRE_REFUSAL_REFUSED, /* by the host or the session's server; also for an unknown cause */
	WIRE_REFUSAL_LIMIT,
	WIRE_REFUSAL_TIMEOUT,
	/* Only for streams that PID 1 has opened: */
	WIRE_REFUSAL_DENIED,	/* by the rules */
	WIRE_REFUSAL_NOT_FOUND, /* there is no host of this name */
	WIRE_REFUSAL_MISMATCH,	/* the connection asked for another host than the dialled one */
	WIRE_REFUSAL_RESET,
};
void wire_put_stream_refuse(struct buf *out, uint32_t number, enum wire_refusal why);
enum wire_refusal wire_read_stream_refuse(const struct wire_frame *frame);

/* A connection of the session to the gate. */
struct wire_stream_open {
	char name[HOST_NAME_SIZE]; /* a valid name, but not necessarily one of the rules */
	uint16_t port;
};
/* -1 if it is not a request that PID 1 may send. */
int wire_read_stream_open(const struct wire_frame *frame, struct wire_stream_open *ret);

/* The rules of the gate, as far as PID 1 needs them: it answers DNS and listens for these names. They are never what
 * decides about a connection. All strings are borrowed. */
struct wire_gate_rule {
	const char *name; /* a host name; a first label of "*" matches one or more labels */
	struct {
		uint16_t first, last;
	} ports[GATE_RULE_PORTS_MAX];
	size_t n_ports; /* ranges; they have at most GATE_RULE_PORTS_MAX ports in all */
	bool tcp;	/* port 443 carries anything, not only TLS */
};
struct wire_gate {
	bool standing; /* each name has an address from the beginning (gate_spec.standing) */
	const struct wire_gate_rule *rules;
	size_t n_rules;	  /* at most GATE_RULES_MAX */
	const char *hint; /* what may be reached and who can change it, for people whose connection is refused */
};
void wire_put_gate(struct buf *out, const struct wire_gate *gate);

/* Connections that PID 1 itself refused since the last such frame. */
struct wire_gate_denied {
	struct {
		char name[HOST_NAME_SIZE]; /* "" = an address that no name has */
		uint16_t port;		   /* 0 = the name was asked for, but no connection was made yet */
		uint64_t count;
	} list[GATE_DENIED_MAX];
	size_t n;
};
/* -1 if PID 1 may not send this. */
int wire_read_gate_denied(const struct wire_frame *frame, struct wire_gate_denied *ret);

struct wire_console_end {
	bool refused;	  /* no program was started */
	enum cause cause; /* of the refusal */
	int exit_code, signal;
	bool oom;     /* killed for exceeding its memory */
	char *detail; /* NULL = none. Owned */
};
void wire_read_console_end(const struct wire_frame *frame, struct wire_console_end *ret);
void wire_console_end_release(struct wire_console_end *end);

/* Assigns a container to a session or an install. */
struct wire_claim {
	const char *session; /* "" = an install */
	uint64_t lease_seconds;
	uint64_t lifetime_seconds; /* 0 = none */
	const struct strv *env;	   /* NAME=value; entries that are not UTF-8 are left out. NULL = none */
	const char *cwd;	   /* NULL = /workspace */
	const char *authority;	   /* PEM: certificates that programs in the session trust too; NULL = none */
};
void wire_put_claim(struct buf *out, const struct wire_claim *claim);

struct wire_install {
	const char *packages;	/* JSON: name -> version */
	const struct strv *env; /* NAME=value; entries that are not UTF-8 are left out */
	uint64_t timeout_ms;
	uint64_t size_limit;	   /* bytes */
	const struct strv *direct; /* names of hosts that are never reached through a proxy; NULL = none */
};
void wire_put_install(struct buf *out, uint32_t call, const struct wire_install *install);

#define WIRE_SESSION_SIZE 65

struct wire_hello {
	uint64_t version;
	uint32_t last_call;
	char session[WIRE_SESSION_SIZE]; /* "" = not claimed, or not reported */
	bool kernel_ready;
	bool has_consoles;
	bool has_programs;	/* supports consoles with pipes */
	bool queries;		/* supports QUERY frames */
	bool checkpoints;	/* supports CHECKPOINT frames */
	bool branches;		/* PID 1 supports branches */
	bool links;		/* supports ENTRY_LINK */
	bool files;		/* supports requests about files in place */
	bool streams;		/* supports streams */
	bool gate;		/* has a gate */
	bool standing;		/* its gate can give names their addresses at once */
	uint64_t lease_seconds; /* PID 1's own; 0 = not reported */
	bool has_lifetime;
	uint64_t lifetime_left_seconds;
	/* Runs that PID 1 will replay. */
	struct {
		uint32_t number;
		enum run_kind kind;
	} calls[CALLS_MAX];
	size_t n_calls;
};
/* -1 with f filled if it is not a hello that we support. */
int wire_read_hello(const struct wire_frame *frame, struct wire_hello *ret, struct fail *f);

enum wire_event_kind {
	WIRE_EVENT_OTHER,
	WIRE_EVENT_READY,
	WIRE_EVENT_DIED,
	WIRE_EVENT_FAILED,
	WIRE_EVENT_ENDING,
	WIRE_EVENT_OLD_EPOCH,
	WIRE_EVENT_CLAIMED,
};

struct wire_event {
	enum wire_event_kind kind;
	char *detail;	  /* one sentence, bounded and cleaned; may be NULL. Owned */
	enum cause cause; /* cause of an ending; CAUSE_NONE if not given */
	/* For a claim: */
	char *refused; /* why it was refused; NULL = accepted. Owned */
	bool kernel_ready;
	uint64_t lease_seconds;
	bool has_lifetime;
	uint64_t lifetime_left_seconds;
};
void wire_read_event(const struct wire_frame *frame, struct wire_event *ret);
void wire_event_release(struct wire_event *event);

/* State of an interactive run. */
struct wire_prompt {
	bool interactive;
	bool begun, waiting, password;
	char *prompt;	 /* cleaned and bounded; NULL = none. Owned */
	uint32_t inputs; /* the last input that PID 1 has accepted */
	int rows, cols;
};
void wire_prompt_release(struct wire_prompt *q);
/* Reads it from a PROMPT, CALL or MARK frame. */
void wire_read_prompt(const struct wire_frame *frame, struct wire_prompt *ret);
/* Builds an INPUT frame; -1 if the text is not valid UTF-8. */
int wire_put_input(struct buf *out, uint32_t call, uint32_t number, const char *text, size_t n);

/* A query to the kernel, for a PID 1 whose hello says that it supports queries. */
struct wire_query {
	const char *kind; /* "complete", "inspect", "is_complete" */
	const char *code;
	size_t len;
	size_t cursor; /* code points */
	bool detail;
};
/* -1 if the code is not valid UTF-8. */
int wire_put_query(struct buf *out, uint32_t number, const struct wire_query *query);

/* The contents of a CALL frame, which announces a replayed run. */
struct wire_call {
	enum run_kind kind;
	uint32_t told;			  /* the last mark that was reported, as far as PID 1 knows */
	char by[RUN_BY_MAX + 1];	  /* as in wire_run, clean UTF-8; "" = unknown */
	char branch[BRANCH_NAME_MAX + 1]; /* "" = the main interpreter */
	bool detached;
};
struct wire_call wire_read_call(const struct wire_frame *frame);

/* Asks for a MARK. aside: from now on, other runs of its kind need not wait for this one. Since version 3. */
void wire_put_take(struct buf *out, uint32_t call, bool aside);
/* Acknowledges everything up to this mark. */
void wire_put_mark_ack(struct buf *out, uint32_t call, uint32_t mark);

/* A MARK frame: PID 1 has sent everything that the run had produced by then. */
struct wire_mark {
	uint32_t number;
	bool queued, beside;
	uint32_t behind; /* the run that it waits for; 0 = none */
	uint64_t duration_ms, stdout_bytes, stderr_bytes, displays_dropped;
};
/* -1 if it is malformed. */
int wire_read_mark(const struct wire_frame *frame, struct wire_mark *ret);

/* The latest output of a run, from a PROGRESS frame. The caller frees it; NULL if there is none. */
char *wire_read_progress(const struct wire_frame *frame);

#endif
