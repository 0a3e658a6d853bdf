/* husk-fit: prepares the image in which it runs. Prints {"lacks": […]}; exits with 0 if nothing is missing. */
#include <stdlib.h>

#include "base/utf8.h"
#include "kernels/fit/fit.h"
#include "kernels/protocol.h"

#define USUAL_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static int report(const struct fit *f)
{
	json_auto_t *lacks = json_array();
	for (size_t i = 0; i < f->lacks.n; i++) {
		AUTO(buf_release) struct buf clean = { 0 };
		utf8_clean(&clean, f->lacks.v[i], strlen(f->lacks.v[i]));
		json_array_append_new(lacks, json_stringn(buf_str(&clean), clean.len));
	}
	json_auto_t *all = json_pack("{s:O}", "lacks", lacks);
	json_dumpf(all, stdout, JSON_COMPACT);
	putchar('\n');
	return fflush(stdout) == 0 && !f->lacks.n ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	const char *path = getenv("PATH");
	struct fit f = { .root = "", .path = path && *path ? path : USUAL_PATH, .as_root = true };
	/* Called in place of an installer: see fitted.c. */
	if (argc == 3 && strcmp(argv[1], "refuse") == 0) {
		fprintf(stderr, "%s\n", argv[2]);
		return EXIT_FAILURE;
	}
	f.manifest = json_load_file(RUNTIME_MANIFEST_PATH, 0, NULL);
	fit_check(&f);
	if (!f.lacks.n)
		fit_accounts(&f);
	if (!f.lacks.n)
		fit_prepare(&f);
	if (!f.lacks.n)
		fit_manifest(&f);
	int code = report(&f);
	fit_release(&f);
	return code;
}
