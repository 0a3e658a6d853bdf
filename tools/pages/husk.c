/* docs/husk.1: the verbs of cli/verbs.c, the settings, and sections that do not come from a table. */
#include "base/alloc.h"
#include "cli/verbs.h"
#include "manager/manager.h"
#include "tools/pages/man.h"
#include "tools/pages/pages.h"

#define PAIRS(...) ((const struct help_pair[]){ __VA_ARGS__, { 0 } })

static const struct help_pair doctor_checks[] = {
	{ "docker client", "It is installed, and version 20.10 or newer." },
	{ "endpoint", "Where the client looks for the engine." },
	{ "engine", "It answers; its version." },
	{ "engine age, containerd, runc",
	  "They are newer than the fixes of known container escapes. A distribution's own version may have the "
	  "fix under an old number, which is a warning." },
	{ "system", "Linux containers, on the architecture of the images." },
	{ "storage driver", "One that does not copy whole images." },
	{ "cgroups", "In use. Version 1 does not count socket buffers, which is a warning." },
	{ "seccomp", "On, with the engine's default profile." },
	{ "memory, swap, process, cpu limit", "The engine's kernel enforces them." },
	{ "apparmor, rootless, user namespaces, landlock", "Further protection, and where one is missing." },
	{ "br_netfilter", "On; without it, sessions with the network can reach each other." },
	{ "runtime", "The engine has the runtime of CONTAINER_RUNTIME." },
	{ "image NAME", "On the engine, for each runtime of this build." },
	{ "network", "As Husk creates it, without traffic between sessions." },
	{ "fence", "The firewall rules around sessions with the network on." },
	{ "leftovers", "Containers of Husk without a server." },
	{ "settings file", "Other users can neither read nor change it." },
	{ "settings", "Valid; those that were changed, without secrets; names without effect." },
	{ "warm pool", "The containers that WARM_POOL keeps ready leave room for sessions." },
	{ "state, storage folder", "This user can write to them, and not everybody can." },
	{ "limits", "The engine's machine has the memory of one session." },
	{ "session NAME", "With --probe: a session of each runtime." },
	{ 0 },
};

static const struct help_pair variables[] = {
	{ "DOCKER_HOST, DOCKER_CONTEXT, DOCKER_CONFIG", "Read by the docker client: which engine to use, and how." },
	{ "NO_COLOR", "If it is set and not empty, output has no colours." },
	{ "XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_DATA_HOME",
	  "Where the folders below are; by default ~/.config, ~/.local/state and ~/.local/share." },
	{ 0 },
};

static const struct help_pair files[] = {
	{ "../share/husk", "Beside the folder of the program: the recipes of the images, for setup." },
	{ "$XDG_CONFIG_HOME/husk/.env", "Settings." },
	{ "$XDG_STATE_HOME/husk/mcp-thread.json",
	  "The id of this user's conversation, created with the first session." },
	{ "$XDG_STATE_HOME/husk/servers",
	  "A lock for each server that has had a session; it is held while the server is alive." },
	{ "$XDG_STATE_HOME/husk/attach", "A socket for each server that has sessions (HUSK_ATTACH)." },
	{ "$XDG_STATE_HOME/husk/husk.db", "The embedded store, with its -wal and -shm files." },
	{ "$XDG_STATE_HOME/husk/settings.db", "Settings that husk config keeps, sealed." },
	{ "$XDG_STATE_HOME/husk/settings.key",
	  "The key of those settings and of the log, unless ENCRYPTION_KEY is set." },
	{ "$XDG_STATE_HOME/husk/repl", "Cells typed at husk repl, by language: the last 1,000 cells, at most 1 MiB." },
	{ "$XDG_DATA_HOME/husk/storage", "See STORAGE_DIR." },
	{ 0 },
};

static const struct help_pair codes[] = {
	{ "0", "Done." },
	{ "1", "A check failed, or there is no such session, export or value." },
	{ "64", "Wrong usage, a bad setting, a file that cannot be read, packages that cannot be installed, or a "
		"limit reached." },
	{ "111", "The system, the engine or the store failed." },
	{ 0 },
};

struct settings_writer {
	struct buf *out;
	int group;
};

static void add_setting(void *ctx, const struct setting_text *s)
{
	struct settings_writer *w = ctx;
	AUTO(freep) char *term = xasprintf("%s (%s)", s->name, s->fallback ? s->fallback : s->usual);
	if (w->group != (int)s->group)
		man_subsection(w->out, setting_group_titles[s->group]);
	w->group = (int)s->group;
	man_terms(w->out, "Ev", PAIRS({ term, s->meaning }));
}

static void add_settings(struct buf *out)
{
	struct settings_writer w = { .out = out, .group = -1 };
	man_section(out, "SETTINGS");
	man_text(out,
		 "A setting comes from the environment, then from the settings file, then from what husk config "
		 "keeps, then from its default. The file has one NAME=value per line; # starts a comment, and quotes "
		 "around a value are dropped. A file in the working directory is never read. An empty value counts as "
		 "unset. A bad value stops husk at its start, and the message names the setting. Sizes take a unit of "
		 "b, k, m or g. The default is in parentheses.");
	config_each_described(add_setting, &w);
}

static void add_verbs(struct buf *out)
{
	man_section(out, "VERBS");
	for (size_t i = 0; i < husk_help.n_verbs; i++) {
		if (!husk_help.verbs[i].name)
			continue;
		man_subsection(out, husk_help.verbs[i].name);
		man_verb(out, &husk_help.verbs[i]);
		if (i == VERB_DOCTOR) {
			buf_add_str(out, ".Pp\nChecks:\n");
			man_terms(out, "", doctor_checks);
		}
	}
}

void pages_husk(struct buf *out)
{
	man_begin(out, &husk_help);
	man_section(out, "DESCRIPTION");
	man_text(out, husk_help.text[0]);
	man_options(out, NULL, husk_help.options);
	add_verbs(out);
	add_settings(out);
	man_section(out, "ENVIRONMENT");
	man_text(out, "These are read from the environment only:");
	man_terms(out, "Ev", variables);
	man_section(out, "FILES");
	man_terms(out, "Pa", files);
	buf_add_str(out, ".Pp\n");
	man_text(out,
		 "In the engine: containers named husk-RANDOM with the label husk=true, a network husk, and images "
		 "husk-RUNTIME:HASH.");
	man_section(out, "EXIT STATUS");
	man_text(out, "All verbs use these; the section of a verb has more:");
	man_terms(out, "", codes);
	man_section(out, "SEE ALSO");
	buf_add_str(out, ".Xr docker 1 ,\n.Xr husk-client 1 ,\n.Xr husk-jupyter-face 1 ,\n.Xr libhusk 3\n");
}
