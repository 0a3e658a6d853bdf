#include "cli/fresh.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/log.h"
#include "cli/exit.h"
#include "cli/report.h"

/* Splits "left<separator>right". right is "" if there is no separator. */
static void split(struct strv *parts, const char *text, const char *separator)
{
	const char *at = strstr(text, separator);
	AUTO(freep) char *left = at ? xstrndup(text, (size_t)(at - text)) : xstrdup(text);
	strv_add(parts, left);
	strv_add(parts, at ? at + strlen(separator) : "");
}

static void take_dependencies(struct fresh *x, const struct options *o, const struct strv *more)
{
	for (size_t i = 0; i < o->dependencies.n; i++)
		split(&x->dependency_text, o->dependencies.v[i], "==");
	for (size_t i = 0; more && i < more->n; i++)
		strv_add(&x->dependency_text, more->v[i]);
	x->n_dependencies = x->dependency_text.n / 2;
	x->dependencies = xcalloc(x->n_dependencies, sizeof(*x->dependencies));
	for (size_t i = 0; i < x->n_dependencies; i++)
		x->dependencies[i] =
			(struct dependency){ x->dependency_text.v[2 * i], x->dependency_text.v[2 * i + 1] };
}

static void take_env(struct fresh *x, const struct options *o)
{
	for (size_t i = 0; i < o->env.n; i++)
		split(&x->env_text, o->env.v[i], "=");
	x->env = xcalloc(o->env.n, sizeof(*x->env));
	for (size_t i = 0; i < o->env.n; i++)
		x->env[i] = (struct env_var){ x->env_text.v[2 * i], x->env_text.v[2 * i + 1] };
}

static const struct runtime *find_runtime(const char *language)
{
	size_t n;
	const struct runtime *list = runtime_list(&n), *found = language ? runtime_find(language) : list;
	if (found)
		return found;
	AUTO(buf_release) struct buf names = { 0 };
	for (size_t i = 0; i < n; i++)
		buf_printf(&names, "%s%s", i ? ", " : "", list[i].name);
	log_error("unknown language '%s': --language is one of %s", language, buf_str(&names));
	return NULL;
}

static void on_install_output(void *ctx UNUSED, const char *text, size_t n)
{
	report_install_output(text, n);
}

int fresh_take(struct fresh *x, const struct options *o, const struct config *config, const char *language,
	       const struct strv *more)
{
	AUTO(fail_release) struct fail f = { 0 };
	*x = (struct fresh){ 0 };
	take_dependencies(x, o, more);
	take_env(x, o);
	x->request = (struct create_request){
		.runtime = find_runtime(language),
		.image = o->image,
		.network = config->network_enabled && !o->no_network,
		.allow = o->network.n ? &o->network : NULL,
		.dependencies = x->dependencies,
		.n_dependencies = x->n_dependencies,
		.env = x->env,
		.n_env = o->env.n,
		.secrets = { (const char *const *)o->secrets.v, o->secrets.n },
		.limits = { .memory = o->memory, .disk = o->disk, .cpus = o->cpus },
		.on_output = on_install_output,
	};
	if (o->no_network && o->network.n)
		fail_set(&f, FAIL_INVALID, "use either --network or --no-network, not both");
	if (f.kind || env_check(x->env, o->env.n, &f) < 0)
		return report_refusal(&f, o->verb);
	if (x->request.runtime)
		return EXIT_DONE;
	options_usage(stderr, o->verb);
	return EXIT_USAGE;
}

void fresh_release(struct fresh *x)
{
	strv_release(&x->env_text);
	strv_release(&x->dependency_text);
	free(x->env);
	free(x->dependencies);
}
