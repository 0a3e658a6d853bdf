/* The checks in their order. Each part asks for itself, all at once; a part is shown when those before it are ready. */
#include "manager/doctor/doctor.h"

#include <sys/utsname.h>
#include <time.h>

#include "base/alloc.h"
#include "base/list.h"
#include "manager/doctor/doctor-private.h"
#include "manager/engine/inspect.h"
#include "manager/store/store.h"

/* What a container may take beyond its time: PID 1's own grace, and an install that is being kept as an image. */
#define OVERDUE_MARGIN_SECONDS 1200

struct part {
	struct list node;
	struct doctor *doctor;
	const char *name;
	const struct runtime *runtime; /* of an image */
	struct engine_probe *probe;
	/* Turns an answer into checks; -1 with f if it makes no sense, 1 if another question was asked. */
	int (*read)(struct part *p, const char *text, size_t n, struct fail *f);
	struct fail failure; /* no answer; judged when it is shown */
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
	struct info info;
	struct timer *start;
	char *client;	     /* its full path */
	const char *unknown; /* why nothing can be known of the engine; NULL while it can */
};

static void show_ready(struct doctor *d);

/* --- answers ----------------------------------------------------------------------------------------------------- */

static int read_client(struct part *p, const char *text, size_t n, struct fail *f)
{
	struct info_client client;
	if (info_read_client(&client, text, n, f) < 0)
		return -1;
	doctor_judge_client(&p->checks, p->doctor->client, &client);
	info_client_release(&client);
	return 0;
}

static int read_place(struct part *p, const char *text, size_t n, struct fail *f)
{
	struct info_place place;
	if (info_read_place(&place, text, n, f) < 0)
		return -1;
	doctor_judge_place(&p->checks, &place);
	info_place_release(&place);
	return 0;
}

static int read_engine(struct part *p, const char *text, size_t n, struct fail *f)
{
	struct info_engine engine;
	if (info_read_engine(&engine, text, n, f) < 0)
		return -1;
	doctor_judge_engine(&p->checks, &engine);
	info_engine_release(&engine);
	return 0;
}

static int read_info(struct part *p, const char *text, size_t n, struct fail *f)
{
	struct utsname uts = { 0 };
	if (info_read(&p->doctor->info, text, n, f) < 0)
		return -1;
	uname(&uts);
	doctor_judge_info(&p->checks, &p->doctor->info, uts.machine);
	return 0;
}

static const char *image_of(const struct part *p, bool *ret_usual)
{
	const char *image = runtime_image(p->runtime, &p->doctor->config);
	*ret_usual = streq(image, p->runtime->image);
	return image;
}

static int read_image(struct part *p, const char *text, size_t n, struct fail *f)
{
	bool usual;
	const char *name = image_of(p, &usual);
	struct info_image image;
	if (info_read_image(&image, text, n, f) < 0)
		return -1;
	doctor_judge_image(&p->checks, p->runtime, name, usual, &image);
	info_image_release(&image);
	return 0;
}

static int read_network(struct part *p, const char *text, size_t n, struct fail *f)
{
	struct info_network network;
	if (info_read_network(&network, text, n, f) < 0)
		return -1;
	doctor_judge_network(&p->checks, &network);
	info_network_release(&network);
	return 0;
}

static int read_containers(struct part *p, const char *text, size_t n, struct fail *f)
{
	struct info_containers containers;
	const struct config *c = &p->doctor->config;
	struct info_ages ages = {
		.now = (uint64_t)time(NULL),
		.orphan = c->orphan_min_age,
		.overdue = MAX(c->max_lifetime, c->dependency_timeout) + OVERDUE_MARGIN_SECONDS,
	};
	if (info_read_containers(&containers, text, n, &ages, f) < 0)
		return -1;
	doctor_judge_containers(&p->checks, &containers);
	info_containers_release(&containers);
	return 0;
}

/* --- questions --------------------------------------------------------------------------------------------------- */

static void on_answer(void *ctx, const char *text, size_t n, const struct fail *f)
{
	struct part *p = ctx;
	struct engine_probe *answered = take_ptr(p->probe);
	int r = -1;
	if (f)
		fail_copy(&p->failure, f);
	else
		r = p->read(p, text, n, &p->failure);
	p->doctor->engine->ops->probe_free(answered);
	p->is_ready = r <= 0;
	show_ready(p->doctor);
}

static int ask(struct part *p, enum engine_question question, const char *subject, struct fail *f)
{
	struct engine *engine = p->doctor->engine;
	p->probe = engine->ops->probe(
		engine, &(struct probe_spec){ .question = question, .subject = subject, .done = on_answer, .ctx = p },
		f);
	return p->probe ? 0 : -1;
}

/* The same one of several that sessions are put on. */
static int read_networks(struct part *p, const char *text, size_t n UNUSED, struct fail *f)
{
	char id[65];
	if (inspect_network_id(text, id) == 0) {
		p->read = read_network;
		return ask(p, ASK_NETWORK, id, f) < 0 ? -1 : 1;
	}
	if (text[strspn(text, " \r\n")])
		return info_not_understood(f, ASK_NETWORKS);
	doctor_judge_network(&p->checks, NULL);
	return 0;
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
	p->doctor->engine->ops->probe_free(p->probe);
	fail_release(&p->failure);
	checks_release(&p->checks);
	free(p);
}

static void begin(struct part *p, enum engine_question question, const char *subject)
{
	struct doctor *d = p->doctor;
	if (!d->client) {
		fail_set(&p->failure, FAIL_ENGINE, "cannot find '%s'%s", d->config.docker,
			 strchr(d->config.docker, '/') ? "" : " in PATH");
		fail_hint(&p->failure,
			  "install docker (./setup-docker.sh does), or set HUSK_DOCKER to the client's path");
		p->is_ready = true;
	} else if (ask(p, question, subject, &p->failure) < 0) {
		p->is_ready = true;
	}
}

static void add_question(struct doctor *d, const char *name, enum engine_question question,
			 int (*read)(struct part *, const char *, size_t, struct fail *), const struct runtime *runtime)
{
	struct part *p = part_new(d, name);
	bool usual;
	p->read = read;
	p->runtime = runtime;
	begin(p, question, runtime ? image_of(p, &usual) : NULL);
}

/* --- showing ----------------------------------------------------------------------------------------------------- */

/* A part without an answer. What follows from a missing engine is said once; the rest is not known. */
static void judge_failure(struct part *p)
{
	struct doctor *d = p->doctor;
	const struct fail *f = &p->failure;
	AUTO(freep) char *name = p->runtime ? xasprintf("%s %s", p->name, p->runtime->name) : xstrdup(p->name);
	bool usual;
	if (f->kind == FAIL_IMAGE && p->runtime) {
		const char *image = image_of(p, &usual);
		doctor_judge_image(&p->checks, p->runtime, image, usual, NULL);
	} else if (d->unknown) {
		checks_add(&p->checks, name, CHECK_WARN, NULL, "not known, since %s", d->unknown);
	} else {
		checks_add(&p->checks, name, CHECK_FAIL, doctor_fix(f), "%s", f->message);
		if (!d->client)
			d->unknown = "there is no docker client";
		else if (p->read == read_engine)
			d->unknown = "the engine was not reached";
	}
}

static void on_tried(void *ctx)
{
	struct doctor *d = ctx;
	d->trial = trial_free(d->trial);
	d->trials->is_ready = true;
	show_ready(d);
}

/* The last two parts depend on what was found before them. */
static void part_reached(struct part *p)
{
	struct doctor *d = p->doctor;
	if (p == d->limits && !d->config_failure.kind)
		doctor_judge_limits(&p->checks, &d->config, d->info.version ? &d->info : NULL);
	if (p == d->limits)
		p->is_ready = true;
	if (p != d->trials || d->trial || p->is_ready)
		return;
	if (d->unknown || d->config_failure.kind) {
		checks_add(&p->checks, p->name, CHECK_WARN, NULL, "not tried, since %s",
			   d->unknown ? d->unknown : "the settings are not valid");
		p->is_ready = true;
	} else {
		d->trial = trial_new(d->loop, &d->config, &p->checks, on_tried, d);
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
		doctor_check_folder(&p->checks, "state folder", d->config.state_dir);
		doctor_check_folder(&p->checks, "storage folder", d->config.storage_dir);
	}
	p->is_ready = true;
}

/* Whose containers are left over only the store knows. */
static void check_leftovers(struct doctor *d, const struct fail *f)
{
	struct part *p = d->leftovers;
	if (store_id(d->store)) {
		begin(p, ASK_CONTAINERS, store_id(d->store));
		return;
	}
	if (f)
		checks_add(&p->checks, p->name, CHECK_WARN, NULL, "not known, since the store does not answer");
	else
		doctor_judge_containers(&p->checks, &(struct info_containers){ 0 });
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

/* An embedded store that is not there yet is not made by a look at it. */
static void check_store(struct doctor *d)
{
	if (d->config_failure.kind) {
		checks_add(&d->leftovers->checks, d->leftovers->name, CHECK_WARN, NULL,
			   "not known, since the settings are not valid");
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
	add_question(d, "docker client", ASK_CLIENT, read_client, NULL);
	add_question(d, "endpoint", ASK_PLACE, read_place, NULL);
	add_question(d, "engine", ASK_ENGINE, read_engine, NULL);
	add_question(d, "engine info", ASK_INFO, read_info, NULL);
	for (size_t i = 0; i < n; i++)
		add_question(d, "image", ASK_IMAGE, read_image, &runtimes[i]);
	add_question(d, "network", ASK_NETWORKS, read_networks, NULL);
	d->leftovers = part_new(d, "leftovers");
	d->leftovers->read = read_containers;
	check_files(d);
	check_store(d);
	d->limits = part_new(d, "limits");
	if (d->request.try_sessions)
		d->trials = part_new(d, "session");
	show_ready(d);
}

/* With settings that are not valid the rest is still worth knowing: the client is what the environment says. */
static void load_config(struct doctor *d)
{
	if (config_load(&d->config, d->request.env_file, &d->config_failure) < 0) {
		const char *docker = config_lookup(&d->config, "HUSK_DOCKER");
		d->config.docker = xstrdup(docker ? docker : "docker");
	} else if (!d->config.thread_id) {
		/* A trial belongs to no conversation and must not make the file that names one. */
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
	d->client = doctor_find_program(d->config.docker);
	d->engine = engine_docker_new(loop, d->config.docker);
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
	info_release(&d->info);
	fail_release(&d->config_failure);
	config_release(&d->config);
	free(d->client);
	free(d);
	return NULL;
}
