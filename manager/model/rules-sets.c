/* The hosts that package managers and git need. This is the only file with names of public registries. */
#include "manager/model/rules.h"

static const struct rule_set sets[] = {
	{ "python", "pypi.org files.pythonhosted.org", "packages of pip and uv" },
	{ "npm", "registry.npmjs.org", "packages of npm, yarn and pnpm" },
	{ "cran", "cran.r-project.org cloud.r-project.org", "packages of R" },
	{ "debian", "deb.debian.org security.debian.org", "packages of apt" },
	{ "github",
	  "github.com github.com:22 api.github.com codeload.github.com *.githubusercontent.com github-cloud.s3.amazonaws.com",
	  "repositories, releases and the API of GitHub" },
};

const struct rule_set *rules_sets(size_t *n)
{
	*n = ARRAY_LEN(sets);
	return sets;
}
