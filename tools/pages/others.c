/* docs/husk-client.1 and docs/husk-jupyter-face.1. */
#include "jupyter/face/options.h"
#include "kernels/client-help.h"
#include "tools/pages/man.h"
#include "tools/pages/pages.h"

static const struct help_pair client_variables[] = {
	{ "HUSK_LINK", "The descriptor of the kernel's end of the link, or the address that the kernel connects to." },
	{ "HUSK_TOKEN_FD",
	  "Only if HUSK_LINK is an address: the descriptor from which the kernel reads its one-use token." },
	{ "HUSK_TAKEN_FD", "The descriptor of a pipe with one byte for each display and sync that init has taken." },
	{ 0 },
};

static const struct help_pair client_files[] = {
	{ "/opt/husk/husk-client", "The program, static and read-only." },
	{ "/opt/husk/runtime.json", "The runtime's manifest: the kernel's command line, its link and its interrupt." },
	{ "/sys/fs/cgroup", "Memory and process counters, version 1 or 2, which show why a process died." },
	{ 0 },
};

void pages_client(struct buf *out)
{
	man_begin(out, &client_help);
	man_section(out, "DESCRIPTION");
	man_text(out, client_help.text[0]);
	man_options(out, NULL, client_help.options);
	man_section(out, "VERBS");
	for (size_t i = 0; i < client_help.n_verbs; i++) {
		man_subsection(out, client_help.verbs[i].name);
		man_verb(out, &client_help.verbs[i]);
	}
	man_section(out, "ENVIRONMENT");
	man_text(out, "init sets these for the kernel, which removes them before user code runs:");
	man_terms(out, "Ev", client_variables);
	man_section(out, "FILES");
	man_terms(out, "Pa", client_files);
	man_section(out, "SEE ALSO");
	buf_add_str(out, ".Xr husk 1\n.Pp\n.Pa docs/protocol.md\ndescribes the frames and the link.\n");
}

void pages_jupyter_face(struct buf *out)
{
	man_begin(out, &face_help);
	man_section(out, "DESCRIPTION");
	man_verb(out, face_help.verbs);
	man_section(out, "SEE ALSO");
	buf_add_str(out, ".Xr husk 1 ,\n.Xr jupyter 1\n");
}
