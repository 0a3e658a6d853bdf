/* The command line: one verb and its options. */
#ifndef HUSK_CLI_OPTIONS_H
#define HUSK_CLI_OPTIONS_H

#include "base/fail.h"
#include "base/strv.h"
#include "cli/verbs.h"

enum keys_action { KEYS_LIST, KEYS_ADD, KEYS_REMOVE };
enum secret_action { SECRET_LIST, SECRET_SET, SECRET_REMOVE };
enum gate_action { GATE_SHOW, GATE_LIST, GATE_ALLOW, GATE_DENY, GATE_CHECK };
enum config_action { CONFIG_LIST, CONFIG_GET, CONFIG_SET, CONFIG_UNSET };

struct options {
	enum verb verb;	 /* after a failure: VERB_NONE unless the verb was recognized */
	enum verb topic; /* help: the verb to explain; VERB_NONE = list all */
	bool wants_help, wants_version;
	const char *env_file;		   /* NULL = the default place; points into argv */
	bool json;			   /* doctor, ps, gc, exports, history, config */
	bool probe;			   /* doctor */
	bool verbose;			   /* doctor --probe */
	bool watch, metrics;		   /* ps */
	bool verify;			   /* history */
	bool ipynb;			   /* history */
	bool connections;		   /* history --network */
	bool all;			   /* stop, exports, ps */
	bool old_exports, old_images, yes; /* gc */
	uint64_t older_days;		   /* gc */
	const char *thread;		   /* exports; points into argv */
	const char *delete_id;		   /* exports; points into argv */
	const char *session;		   /* stop, history, shell, open, jupyter, repl; points into argv */
	struct strv allowed;		   /* mcp: folders that a model may import from */
	const char *runtime;		   /* setup; points into argv */
	bool engine_only;		   /* setup */
	/* serve; all but the list point into argv */
	const char *listen, *unix_path, *tls_cert, *tls_key;
	bool behind_proxy;
	struct strv hosts; /* accepted values of Host */
	bool print;	   /* ui: print the address instead of opening a browser */
	/* keys; the words point into argv */
	enum keys_action keys_action;
	const char *key_name; /* for remove also an id */
	const char *tenant;   /* NULL = local; for list and remove: all */
	struct strv scopes;
	uint64_t max_sessions, max_memory, max_streams, max_exports; /* of the tenant; 0 = no limit */
	/* secret; everything except the list points into argv. The value is read from standard input. */
	enum secret_action secret_action;
	const char *secret_name, *header, *query, *basic;
	struct strv secret_hosts;
	/* jupyter */
	bool tcp, install, uninstall, user;
	const char *prefix; /* points into argv */
	/* config; the words point into argv */
	enum config_action action;
	const char *setting;
	const char *setting_value; /* NULL = read from standard input */
	/* run and repl; everything except the lists points into argv */
	const char *language; /* NULL = chosen by the program's file name, or the first */
	const char *program;  /* - = standard input */
	/* Ends with NULL. run: the program and its arguments; shell: the command, or NULL; cp: sources and destination. */
	const char *const *arguments;
	uint64_t timeout;	  /* seconds; 0 = no limit */
	bool alone;		  /* run, jupyter --install: do not copy the folder */
	const char *requirements; /* run: a file that lists packages */
	uint16_t port;		  /* open: of the session */
	const char *cwd;	  /* shell: directory in the session */
	uint64_t memory, disk;	  /* bytes; 0 = from the settings, also for cpus */
	double cpus;
	const char *image; /* NULL = the language's own */
	enum gate_action gate_action;
	bool no_network;
	struct strv network;  /* hosts that a new session may reach; empty = all */
	const char *pictures; /* repl: how pictures are shown; NULL = in a way that the terminal supports */
	struct strv dependencies, env, secrets, files, exports;
};

/* -1 with f if the command line is wrong. Prints nothing. */
int options_parse(struct options *o, int argc, char **argv, struct fail *f);
void options_release(struct options *o);
/* Prints the usage of the verb after a mistake. */
void options_usage(FILE *to, enum verb verb);

#endif
