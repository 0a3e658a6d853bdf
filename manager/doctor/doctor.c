/* Runs the checks and shows them in a fixed order. All parts send their queries at once. A part is shown when it and
 * all parts before it are ready. */
#include "manager/manager.h"
#include "manager/model/config.h"
#include "manager/model/runtime.h"

#include <sys/utsname.h>
#include <time.h>

#include "base/alloc.h"
#include "base/list.h"
#include "manager/doctor/doctor-private.h"
#include "manager/engine/open.h"
#include "manager/store/store.h"

struct part {
	struct list node;
	struct doctor *doctor;
	const char *name;
	const struct runtime *runtime;	/* for an image of a runtime */
	const char *listed, *reference; /* for an image of CONTAINER_IMAGES */
	struct engine_query *query;
	enum engine_query_kind kind;
	struct fail failure; /* why there is no answer; judged when the part is shown */
	struct checks checks;
	bool is_ready;
};

struct doctor {
	struct loop *loop;
	struct doctor_request request;
	struct config config;
	struct fail config_failure;
	struct engine *engine;
	struct list parts;
	struct part *leftovers, *limits, *trials, *store_part;
	struct store *store;
	struct trial *trial;
	struct engine_info machine; /* only memory and CPUs of the engine's machine; 0 = unknown */
	struct timer *start;
	char *client;	     /* full path of the engine's client */
	const char *unknown; /* why the engine cannot be queried; NULL while it can */
};

static void show_ready(struct doctor *d);

static bool is_cluster(const struct doctor *d)
{
	return engine_capabilities(d->engine).several_nodes;
}

/* --- answers ----------------------------------------------------------------------------------------------------- */

static const char *image_of(const struct part *p, bool *ret_usual)
{
	const char *image = runtime_image(p->runtime, &p->doctor->config);
	*ret_usual = streq(image, p->runtime->image);
	return image;
}

static void judge_info(struct part *p, const struct engine_info *info)
{
	struct doctor *d = p->doctor;
	struct utsname uts = { 0 };
	uname(&uts);
	doctor_judge_info(&p->checks, info, uts.machine);
	if (!d->config_failure.kind)
		doctor_judge_runtime(&p->checks, &d->config, info);
	struct kernel_facts facts;
	doctor_read_kernel(&facts, info->kernel);
	facts.is_gvisor = engine_is_gvisor(d->config.runtime);
	doctor_judge_kernel(&p->checks, info, &facts);
	d->machine = (struct engine_info){ .memory = info->memory, .cpus = info->cpus };
}

static void judge_image(struct part *p, const struct engine_image *image)
{
	bool usual;
	if (p->listed) {
		doctor_judge_listed_image(&p->checks, p->listed, p->reference, image);
		return;
	}
	const char *name = image_of(p, &usual);
	doctor_judge_image(&p->checks, p->runtime, name, usual, image);
}

static void judge(struct part *p, const struct engine_answer *a)
{
	struct doctor *d = p->doctor;
	switch (a->kind) {
	case ENGINE_QUERY_CLIENT:
		doctor_judge_client(&p->checks, d->client, &a->client);
		break;
	case ENGINE_QUERY_PLACE:
		if (is_cluster(d))
			doctor_judge_cluster(&p->checks, &d->config, &a->place);
		else
			doctor_judge_place(&p->checks, &a->place);
		break;
	case ENGINE_QUERY_VERSION:
		doctor_judge_engine(&p->checks, p->doctor->engine->ops->name, &a->version);
		doctor_judge_age(&p->checks, &a->version);
		break;
	case ENGINE_QUERY_INFO:
		judge_info(p, &a->info);
		break;
	case ENGINE_QUERY_IMAGE:
		judge_image(p, &a->image);
		break;
	case ENGINE_QUERY_NETWORK:
		if (is_cluster(d))
			checks_add(&p->checks, p->name, CHECK_OK, NULL, "a pod without a network reached nothing");
		else
			doctor_judge_network(&p->checks, &a->network);
		break;
	case ENGINE_QUERY_CONTAINERS:
		doctor_judge_containers(&p->checks, &d->config, &a->containers, (uint64_t)time(NULL));
		break;
	case ENGINE_QUERY_FENCE:
		if (is_cluster(d)) {
			checks_add(&p->checks, p->name, CHECK_OK, NULL,
				   "a pod reached neither the API server nor the kubelet of its node");
			break;
		}
		doctor_judge_fence(&p->checks, &d->config, a->fence);
		break;
	case ENGINE_QUERY_HOSTS:
		doctor_judge_hosts(&p->checks, &a->hosts);
		break;
	case ENGINE_QUERY_IMAGES:
	case ENGINE_QUERY_CONTAINER:
	case ENGINE_QUERY_STATS:
	case ENGINE_QUERY_HOST:
		break;
	}
}

static void on_answer(void *ctx, const struct engine_answer *answer, const struct fail *f)
{
	struct part *p = ctx;
	p->query = p->doctor->engine->ops->query_free(p->query);
	if (f)
		fail_copy(&p->failure, f);
	else
		judge(p, answer);
	p->is_ready = true;
	show_ready(p->doctor);
}

static struct part *part_new(struct doctor *d, const char *name)
{
	struct part *p = new0(struct part);
	p->doctor = d;
	p->name = name;
	list_append(&d->parts, &p->node);
	return p;
}

static void part_free(struct part *p)
{
	list_remove(&p->node);
	p->doctor->engine->ops->query_free(p->query);
	fail_release(&p->failure);
	checks_release(&p->checks);
	free(p);
}

static void start_query(struct part *p, const struct query_spec *spec)
{
	struct doctor *d = p->doctor;
	p->kind = spec->kind;
	if (d->client) {
		p->query = d->engine->ops->query(d->engine, spec, &p->failure);
	} else {
		const char *client = config_client(&d->config);
		cause_set(&p->failure, FAIL_ENGINE, CAUSE_NO_CLIENT, "cannot find '%s'%s", client,
			  strchr(client, '/') ? "" : " in PATH");
		fail_hint(&p->failure,
			  is_cluster(d) ?
				  "install kubectl, or set HUSK_KUBECTL to its path" :
				  "install docker (`husk setup` does), or set HUSK_DOCKER to the client's path");
	}
	p->is_ready = !p->query;
}

static void query_engine(struct part *p, enum engine_query_kind kind, const char *subject)
{
	start_query(p, &(struct query_spec){ .kind = kind, .subject = subject, .done = on_answer, .ctx = p });
}

/* Checks the firewall rules without changing them. */
static void add_fence(struct doctor *d, const struct runtime *runtime)
{
	struct part *p = part_new(d, "fence");
	struct fence_spec fence = { .image = runtime->image, .check_only = true };
	if (!engine_capabilities(d->engine).sets_fence) {
		p->is_ready = true;
		return;
	}
	if (d->config_failure.kind || d->config.network_enabled) {
		start_query(p, &(struct query_spec){
				       .kind = ENGINE_QUERY_FENCE, .fence = &fence, .done = on_answer, .ctx = p });
		return;
	}
	checks_add(&p->checks, p->name, CHECK_OK, NULL, "not needed: the network is switched off");
	p->is_ready = true;
}

static void add_missing(struct doctor *d, const struct engine_capabilities *can)
{
	struct part *p = part_new(d, "engine");
	doctor_judge_capabilities(&p->checks, d->config_failure.kind ? NULL : &d->config, d->engine->ops->name, can);
	p->is_ready = true;
}

static void add_query(struct doctor *d, const char *name, enum engine_query_kind kind)
{
	query_engine(part_new(d, name), kind, NULL);
}

static void add_image(struct doctor *d, const struct runtime *runtime)
{
	struct part *p = part_new(d, "image");
	bool usual;
	p->runtime = runtime;
	query_engine(p, ENGINE_QUERY_IMAGE, image_of(p, &usual));
}

static void add_listed_images(struct doctor *d)
{
	const struct strv *names = &d->config.image_names;
	for (size_t i = 0; i < names->n; i++) {
		struct part *p = part_new(d, "image");
		p->listed = names->v[i];
		p->reference = d->config.image_references.v[i];
		query_engine(p, ENGINE_QUERY_IMAGE, p->reference);
	}
}

/* --- showing ----------------------------------------------------------------------------------------------------- */

/* Judges a part without an answer. A missing engine is reported once; the parts after that are unknown. */
static void judge_failure(struct part *p)
{
	struct doctor *d = p->doctor;
	const struct fail *f = &p->failure;
	const char *image = p->runtime ? p->runtime->name : p->listed;
	AUTO(freep) char *name = image ? xasprintf("%s %s", p->name, image) : xstrdup(p->name);
	if (f->kind == FAIL_IMAGE && image) {
		judge_image(p, NULL);
	} else if (p->kind == ENGINE_QUERY_FENCE && !d->unknown) {
		doctor_judge_no_fence(&p->checks, &d->config, f);
	} else if (d->unknown) {
		checks_add(&p->checks, name, CHECK_WARN, NULL, "unknown, since %s", d->unknown);
	} else if (p->kind == ENGINE_QUERY_NETWORK && is_cluster(d) && d->config.network_enabled) {
		checks_add(&p->checks, name, CHECK_WARN, f->hint, "%s", f->message);
	} else {
		checks_add(&p->checks, name, CHECK_FAIL, f->hint, "%s", f->message);
		if (!d->client)
			d->unknown = is_cluster(d) ? "there is no kubectl" : "there is no docker client";
		else if (p->kind == ENGINE_QUERY_VERSION)
			d->unknown = "the engine cannot be reached";
	}
}

static void on_tried(void *ctx)
{
	struct doctor *d = ctx;
	d->trial = trial_free(d->trial);
	d->trials->is_ready = true;
	show_ready(d);
}

/* The last two parts, limits and trials, depend on the results of earlier ones. */
static void part_reached(struct part *p)
{
	struct doctor *d = p->doctor;
	if (p == d->limits && !d->config_failure.kind)
		doctor_judge_limits(&p->checks, &d->config, &d->machine);
	if (p == d->limits)
		p->is_ready = true;
	if (p != d->trials || d->trial || p->is_ready)
		return;
	if (d->unknown || d->config_failure.kind) {
		checks_add(&p->checks, p->name, CHECK_WARN, NULL, "not tried, since %s",
			   d->unknown ? d->unknown : "the settings are not valid");
		p->is_ready = true;
	} else {
		d->trial = trial_new(d->loop, &d->config, d->request.verbose, &p->checks, on_tried, d);
	}
}

static void show_ready(struct doctor *d)
{
	list_for_each(p, &d->parts, struct part, node) {
		part_reached(p);
		if (!p->is_ready)
			return;
		if (p->failure.kind)
			judge_failure(p);
		for (size_t i = 0; i < p->checks.n; i++)
			d->request.on_check(d->request.ctx, &p->checks.v[i]);
		part_free(p);
	}
	d->request.on_done(d->request.ctx);
}

/* --- life -------------------------------------------------------------------------------------------------------- */

static void check_files(struct doctor *d)
{
	struct part *p = part_new(d, "files");
	bool valid = !d->config_failure.kind;
	doctor_check_settings_file(&p->checks, d->request.env_file, valid ? &d->config : NULL);
	doctor_check_settings(&p->checks, &d->config, valid ? NULL : &d->config_failure);
	if (valid) {
		doctor_check_warm_pool(&p->checks, &d->config);
		doctor_check_folder(&p->checks, "state folder", d->config.state_dir);
		doctor_check_folder(&p->checks, "storage folder", d->config.storage_dir);
	}
	p->is_ready = true;
}

/* Leftovers are found by the label with the store's id, so the store must be known first. */
static void check_leftovers(struct doctor *d, const struct fail *f)
{
	struct part *p = d->leftovers;
	if (store_id(d->store)) {
		query_engine(p, ENGINE_QUERY_CONTAINERS, store_id(d->store));
		return;
	}
	if (f)
		checks_add(&p->checks, p->name, CHECK_WARN, NULL, "unknown, since the store does not answer");
	else
		doctor_judge_containers(&p->checks, &d->config, &(struct engine_containers){ 0 }, 0);
	p->is_ready = true;
}

static void on_store(void *ctx, const struct fail *f)
{
	struct doctor *d = ctx;
	doctor_judge_store(&d->store_part->checks, &d->config, f);
	d->store_part->is_ready = true;
	check_leftovers(d, f);
	show_ready(d);
}

/* The check must not create an embedded store. */
static void check_store(struct doctor *d)
{
	if (d->config_failure.kind) {
		checks_add(&d->leftovers->checks, d->leftovers->name, CHECK_WARN, NULL,
			   "unknown, since the settings are not valid");
		d->leftovers->is_ready = true;
		return;
	}
	d->store_part = part_new(d, "store");
	d->store = store_new(d->loop, &d->config);
	if (store_is_there(&d->config)) {
		(void)store_identify(d->store, on_store, d);
		return;
	}
	doctor_judge_store(&d->store_part->checks, &d->config, NULL);
	d->store_part->is_ready = true;
	check_leftovers(d, NULL);
}

static void on_start(void *ctx)
{
	struct doctor *d = ctx;
	size_t n;
	const struct runtime *runtimes = runtime_list(&n);
	struct engine_capabilities can = engine_capabilities(d->engine);
	add_query(d, is_cluster(d) ? "kubectl" : "docker client", ENGINE_QUERY_CLIENT);
	if (can.several_hosts)
		add_query(d, "hosts", ENGINE_QUERY_HOSTS);
	else
		add_query(d, "endpoint", ENGINE_QUERY_PLACE);
	add_query(d, "engine", ENGINE_QUERY_VERSION);
	if (can.reports_machine)
		add_query(d, "engine info", ENGINE_QUERY_INFO);
	for (size_t i = 0; can.lists_images && i < n; i++)
		add_image(d, &runtimes[i]);
	if (can.lists_images)
		add_listed_images(d);
	if (can.reports_machine)
		add_query(d, "network", ENGINE_QUERY_NETWORK);
	if (can.several_nodes)
		query_engine(part_new(d, "network off"), ENGINE_QUERY_NETWORK, runtime_image(&runtimes[0], &d->config));
	add_fence(d, &runtimes[0]);
	add_missing(d, &can);
	d->leftovers = part_new(d, "leftovers");
	check_files(d);
	check_store(d);
	d->limits = part_new(d, "limits");
	if (d->request.try_sessions)
		d->trials = part_new(d, "session");
	show_ready(d);
}

/* The other checks run even if the settings are not valid. The client is then taken from the environment. */
static void load_config(struct doctor *d)
{
	if (settings_load(&d->config, d->request.env_file, &d->config_failure) < 0) {
		const char *docker = config_lookup(&d->config, "HUSK_DOCKER");
		d->config.docker = xstrdup(docker ? docker : "docker");
	} else if (!d->config.thread_id) {
		/* A trial belongs to no conversation and must not create the file with the conversation's id. */
		d->config.thread_id = xstrdup("doctor");
	}
}

struct doctor *doctor_new(struct loop *loop, const struct doctor_request *request)
{
	struct doctor *d = new0(struct doctor);
	d->loop = loop;
	d->request = *request;
	list_init(&d->parts);
	load_config(d);
	d->client = doctor_find_program(config_client(&d->config));
	AUTO(fail_release) struct fail f = { 0 };
	d->engine = engine_open(
		d->config.engine,
		&(struct engine_options){ .loop = loop, .program = config_client(&d->config), .config = &d->config },
		&f);
	d->start = timer_new(loop, on_start, d);
	timer_start(d->start, 0, 0);
	return d;
}

struct doctor *doctor_free(struct doctor *d)
{
	if (!d)
		return NULL;
	trial_free(d->trial);
	list_for_each(p, &d->parts, struct part, node)
		part_free(p);
	d->engine->ops->free(d->engine);
	store_free(d->store);
	timer_free(d->start);
	fail_release(&d->config_failure);
	config_release(&d->config);
	free(d->client);
	free(d);
	return NULL;
}
