/* Reads the settings that the table in config-table.c lists. */
#include "manager/model/config.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/utf8.h"
#include "manager/model/config-private.h"
#include "manager/model/networks.h"
#include "manager/model/pool.h"
#include "manager/model/runtime.h"

/* Memory that the interpreter, PID 1 and page tables need in addition to full tmpfs mounts. */
#define MEMORY_BESIDE_TMPFS (256ull << 20)
/* Less than CLAIM_AUTHORITY_MAX, which also counts the certificate of a session's gate. */
#define CERTIFICATES_MAX ((1u << 20) - 8192)
/* Where distributions keep trusted certificates: Debian and Arch, Fedora, openSUSE. */
static const char *const host_ca_bundles[] = { "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
					       "/etc/ssl/ca-bundle.pem" };

static const char *find_pair(const struct strv *pairs, const char *name)
{
	size_t len = strlen(name);
	for (size_t i = 0; i < pairs->n; i++)
		if (strncmp(pairs->v[i], name, len) == 0 && pairs->v[i][len] == '=' && pairs->v[i][len + 1])
			return pairs->v[i] + len + 1;
	return NULL;
}

const char *config_lookup(const struct config *c, const char *name)
{
	const char *value = find_pair(&c->values, name);
	if (value)
		return value;
	value = c->without_environment ? NULL : getenv(name);
	/* Clients pass settings that their user left blank as empty strings, which means unset. */
	if (value && *value)
		return value;
	value = find_pair(&c->file, name);
	return value ? value : find_pair(&c->kept, name);
}

const char *config_origin(const struct config *c, const char *name)
{
	const char *value = config_lookup(c, name);
	if (!value)
		return "default";
	if (value == find_pair(&c->values, name))
		return "given";
	if (value == find_pair(&c->file, name))
		return "file";
	return value == find_pair(&c->kept, name) ? "kept" : "environment";
}

static int choose(const struct setting *s, const char *value, uint64_t *ret, struct fail *f)
{
	AUTO(buf_release) struct buf all = { 0 };
	for (size_t i = 0; s->choices[i]; i++) {
		if (streq(s->choices[i], value)) {
			*ret = i;
			return 0;
		}
		buf_printf(&all, "%s%s", i ? ", " : "", s->choices[i]);
	}
	return fail_set(f, FAIL_INVALID, "setting %s: '%s' is not one of: %s", s->name, value, buf_str(&all));
}

#define CPUS_MOST 1000
#define CPUS_QUOTA 100000.0

static int apply_cpus(const struct setting *s, const char *value, uint64_t *ret, struct fail *f)
{
	double cpus;
	if (parse_decimal(value, &cpus) < 0 || cpus < 0.01 || cpus > CPUS_MOST)
		return fail_set(f, FAIL_INVALID, "setting %s: '%s' is not a number of CPUs from 0.01 to %d, such as 4",
				s->name, value, CPUS_MOST);
	*ret = (uint64_t)(cpus * CPUS_QUOTA + 0.5);
	return 0;
}

static int apply(struct config *c, const struct setting *s, const char *value, struct fail *f)
{
	void *field = (char *)c + s->offset;
	uint64_t number = 0;
	switch (s->kind) {
	case SETTING_NUMBER:
		if (parse_u64(value, &number) < 0 || number < s->min || number > s->max)
			return fail_set(f, FAIL_INVALID, "setting %s: '%s' is not a whole number from %llu to %llu",
					s->name, value, (unsigned long long)s->min, (unsigned long long)s->max);
		*(uint64_t *)field = number;
		return 0;
	case SETTING_SIZE:
		if (parse_size(value, &number) < 0 || number < s->min || number > s->max)
			return fail_set(f, FAIL_INVALID,
					"setting %s: '%s' is not a size from %llum to %llum, such as 200m or 2g",
					s->name, value, (unsigned long long)(s->min / MIB),
					(unsigned long long)(s->max / MIB));
		*(uint64_t *)field = number;
		return 0;
	case SETTING_CPUS:
		return apply_cpus(s, value, field, f);
	case SETTING_BOOL:
		if (parse_bool(value, field) < 0)
			return fail_set(f, FAIL_INVALID, "setting %s: '%s' is neither true nor false", s->name, value);
		return 0;
	case SETTING_CHOICE:
		return choose(s, value, field, f);
	case SETTING_BY_NAME:
		return 0;
	case SETTING_PATH:
	case SETTING_STRING:
	case SETTING_SECRET:
		*(char **)field = xstrdup(value);
		return 0;
	}
	return 0;
}

/* $NAME/husk, or $HOME/<fallback>/husk; relative XDG values are invalid by their specification and ignored. */
static char *xdg_dir(const struct config *c, const char *name, const char *fallback)
{
	const char *given = c ? find_pair(&c->values, name) : NULL;
	const char *base = given ? given : getenv(name), *home = getenv("HOME");
	if (base && *base == '/')
		return xasprintf("%s/husk", base);
	return xasprintf("%s/%s/husk", home && *home ? home : "/tmp", fallback);
}

static char *below(const char *dir, const char *path)
{
	if (*path == '/')
		return xstrdup(path);
	while (path[0] == '.' && path[1] == '/')
		path += 2;
	return xasprintf("%s/%s", dir, path);
}

static int refuse_root(const struct config *c, struct fail *f)
{
	const char *value = config_lookup(c, "CONTAINER_EXECUTE_AS_ROOT");
	bool root = false;
	if (!value)
		return 0;
	if (parse_bool(value, &root) < 0)
		return fail_set(f, FAIL_INVALID, "setting CONTAINER_EXECUTE_AS_ROOT: '%s' is neither true nor false",
				value);
	if (!root)
		return 0;
	fail_set(f, FAIL_INVALID, "setting CONTAINER_EXECUTE_AS_ROOT: code in a Husk session never runs as root");
	return fail_hint(
		f,
		"remove the setting: packages install as the sandbox user, and root inside a container is one kernel bug away from root outside");
}

static bool is_word(const char *text)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t n = strlen(text);
	return n <= 128 && strspn(text, allowed) == n;
}

/* True for an image name as engines write it: a registry with its port, folders, a tag, a digest. It must not look
 * like an option. */
static bool is_reference(const char *text)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@";
	size_t n = strlen(text);
	return n > 0 && n <= 512 && *text != '-' && strspn(text, allowed) == n;
}

/* The names are parts of addresses and of kubectl's arguments. */
static int check_kubernetes(const struct config *c, struct fail *f)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
	const char *name = c->kubernetes_namespace, *registry = c->registry;
	size_t n = strlen(name);
	if (!n || n > 63 || strspn(name, allowed) != n)
		return fail_set(f, FAIL_INVALID, "setting KUBERNETES_NAMESPACE: '%.100s' is not a namespace", name);
	if (registry && (!is_reference(registry) || registry[strlen(registry) - 1] == '/'))
		return fail_set(f, FAIL_INVALID, "setting CONTAINER_REGISTRY: '%.200s' is not HOST[:PORT][/FOLDER]",
				registry);
	return 0;
}

const char *config_client(const struct config *c)
{
	return c->engine && streq(c->engine, "kubernetes") ? c->kubectl : c->docker;
}

static int check_pool(struct config *c, struct fail *f)
{
	AUTO(pool_hosts_release) struct pool_hosts hosts = { 0 };
	if (c->pool && pool_hosts_parse(c->pool, &hosts, f) < 0)
		return fail_wrap(f, "setting CONTAINER_POOL");
	for (size_t i = 0; i < hosts.names.n; i++)
		strv_add(&c->pool_names, hosts.names.v[i]);
	if (c->pool)
		return 0;
	fail_set(f, FAIL_INVALID, "setting CONTAINER_POOL: CONTAINER_ENGINE=pool needs a list of hosts");
	return fail_hint(f, "For example: CONTAINER_POOL='big=context:big, gpu=ssh://husk@10.0.0.3'");
}

static int check_engine(struct config *c, struct fail *f)
{
	if (streq(c->engine, "docker") || streq(c->engine, "podman") || streq(c->engine, "kubernetes"))
		return check_kubernetes(c, f);
	if (streq(c->engine, "pool"))
		return check_pool(c, f);
	return fail_set(f, FAIL_INVALID,
			"setting CONTAINER_ENGINE: '%.100s' is not one of: docker, podman, pool, kubernetes",
			c->engine);
}

/* A ceiling below the default is an error: sessions that request nothing would exceed it. */
static int check_ceilings(const struct config *c, struct fail *f)
{
	const struct {
		const char *max, *usual;
		uint64_t most, has;
	} pairs[] = { { "CONTAINER_MEMORY_MAX", "CONTAINER_MEMORY_LIMIT", c->memory_max, c->memory_limit },
		      { "CONTAINER_CPUS_MAX", "CONTAINER_CPU_QUOTA", c->cpus_max, c->cpu_quota },
		      { "CONTAINER_DISK_MAX", "CONTAINER_HOME_SIZE", c->disk_max, c->home_size } };
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		if (!pairs[i].most || pairs[i].most >= pairs[i].has)
			continue;
		fail_set(f, FAIL_INVALID,
			 "settings %s and %s: the maximum for one call is below the default of every session",
			 pairs[i].max, pairs[i].usual);
		return fail_hint(f, "raise %s or lower %s", pairs[i].max, pairs[i].usual);
	}
	return 0;
}

static int check_together(const struct config *c, struct fail *f)
{
	if (c->tmpfs_size > UINT64_MAX / 4 || 2 * c->tmpfs_size + MEMORY_BESIDE_TMPFS > c->memory_limit) {
		fail_set(
			f, FAIL_INVALID,
			"settings CONTAINER_TMPFS_SIZE and CONTAINER_MEMORY_LIMIT: two tmpfs mounts of %llum and 256m for "
			"processes do not fit into %llum (files in tmpfs count as memory)",
			(unsigned long long)(c->tmpfs_size / MIB), (unsigned long long)(c->memory_limit / MIB));
		return fail_hint(f, "raise CONTAINER_MEMORY_LIMIT to at least %llum or lower CONTAINER_TMPFS_SIZE",
				 (unsigned long long)((2 * c->tmpfs_size + MEMORY_BESIDE_TMPFS) / MIB));
	}
	if (c->ca_bundle && strcasecmp(c->ca_bundle, "none") != 0 && access(c->ca_bundle, R_OK) < 0)
		return fail_set(f, FAIL_INVALID, "setting CONTAINER_CA_BUNDLE: cannot read '%s': %m", c->ca_bundle);
	if (c->runtime && (!is_word(c->runtime) || *c->runtime == '-'))
		return fail_set(
			f, FAIL_INVALID,
			"setting CONTAINER_RUNTIME: '%.128s' is not the name of a runtime, such as runsc; letters, digits, '.', '_' and '-' only",
			c->runtime);
	if (c->advertise && (strspn(c->advertise, "0123456789abcdefABCDEF.:[]") != strlen(c->advertise) ||
			     !strchr(c->advertise, ':') || strlen(c->advertise) > 60))
		return fail_set(f, FAIL_INVALID,
				"setting HUSK_ADVERTISE: '%.100s' is not ADDRESS:PORT, such as 10.0.3.7:8765",
				c->advertise);
	if (c->thread_id && !is_word(c->thread_id))
		return fail_set(f, FAIL_INVALID,
				"setting HUSK_THREAD_ID: letters, digits, '.', '_' and '-' only, at most 128");
	return 0;
}

static int fill_private_networks(struct config *c, struct fail *f)
{
	AUTO(freep) char *copy = xstrdup(c->network_private ? c->network_private : "");
	for (char *rest = copy, *word; (word = strsep(&rest, ", \t"));)
		if (*word && networks_add(&c->private_networks, word) < 0)
			return fail_set(
				f, FAIL_INVALID,
				"setting CONTAINER_NETWORK_PRIVATE: '%s' is neither a network, such as 10.1.0.0/16 or "
				"fd12::/32, nor an address, nor 'all'",
				word);
	return 0;
}

static int fill_network_rules(struct config *c, struct fail *f)
{
	if (!c->network_allow)
		return 0;
	return rules_parse(&c->network_rules, c->network_allow, f) < 0 ?
		       fail_wrap(f, "setting CONTAINER_NETWORK_ALLOW") :
		       0;
}

static int fill_images(struct config *c, struct fail *f)
{
	AUTO(freep) char *copy = xstrdup(c->images ? c->images : "");
	for (char *rest = copy, *word; (word = strsep(&rest, ","));) {
		word = config_trimmed(word);
		char *equals = strchr(word, '=');
		if (!*word)
			continue;
		if (equals)
			*equals = '\0';
		char *name = config_trimmed(word), *reference = equals ? config_trimmed(equals + 1) : word;
		if (!equals || !*name || strlen(name) > 64 || !is_word(name) || !is_reference(reference))
			return fail_set(
				f, FAIL_INVALID,
				"setting CONTAINER_IMAGES: '%.100s' is not NAME=REFERENCE, such as tools=my-tools:1",
				word);
		if (strv_find(&c->image_names, name) != SIZE_MAX)
			return fail_set(f, FAIL_INVALID, "setting CONTAINER_IMAGES: '%s' occurs twice", name);
		strv_add(&c->image_names, name);
		strv_add(&c->image_references, reference);
	}
	return 0;
}

/* Pods cannot mount a file of this machine. Images have the usual certificates, so only a chosen bundle is read. */
static int load_certificates(struct config *c, struct fail *f)
{
	AUTO(buf_release) struct buf text = { .max = CERTIFICATES_MAX };
	if (!c->ca_bundle || strcasecmp(c->ca_bundle, "none") == 0 || !c->engine || !streq(c->engine, "kubernetes"))
		return 0;
	int r = config_read_file(c->ca_bundle, &text);
	if (r < 0)
		return fail_set(f, FAIL_INVALID, "setting CONTAINER_CA_BUNDLE: cannot read '%s': %s", c->ca_bundle,
				strerror(-r));
	if (!utf8_valid(text.data, text.len) || memchr(text.data, '\0', text.len))
		return fail_set(f, FAIL_INVALID,
				"setting CONTAINER_CA_BUNDLE: '%s' is not a text of certificates (PEM)", c->ca_bundle);
	c->certificates = buf_steal_str(&text);
	return 0;
}

static void choose_ca_bundle(struct config *c)
{
	if (c->ca_bundle && strcasecmp(c->ca_bundle, "none") == 0) {
		freep(&c->ca_bundle);
		c->ca_bundle = NULL;
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(host_ca_bundles) && !c->ca_bundle; i++)
		if (access(host_ca_bundles[i], R_OK) == 0)
			c->ca_bundle = xstrdup(host_ca_bundles[i]);
}

int config_allow_dir(struct config *c, const char *origin, const char *dir, struct fail *f)
{
	struct stat st;
	if (*dir != '/')
		return fail_set(f, FAIL_INVALID,
				"%s: '%.200s' is not an absolute path; write the whole path, such as /srv/data", origin,
				dir);
	if (stat(dir, &st) < 0)
		return fail_set(f, FAIL_INVALID, "%s: cannot use the folder '%.200s': %s", origin, dir,
				strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return fail_set(f, FAIL_INVALID, "%s: '%.200s' is not a folder", origin, dir);
	strv_add(&c->import_allowed_dirs, dir);
	return 0;
}

static int fill_allowed_dirs(struct config *c, struct fail *f)
{
	const char *dirs = config_lookup(c, "IMPORT_ALLOWED_DIRS");
	AUTO(freep) char *copy = xstrdup(dirs ? dirs : "");
	for (char *rest = copy, *dir; (dir = strsep(&rest, ","));)
		if (*config_trimmed(dir) &&
		    config_allow_dir(c, "setting IMPORT_ALLOWED_DIRS", config_trimmed(dir), f) < 0)
			return -1;
	return 0;
}

static void fill_places(struct config *c)
{
	AUTO(freep) char *data = xdg_dir(c, "XDG_DATA_HOME", ".local/share");
	char *storage = below(data, c->storage_dir ? c->storage_dir : "storage");
	free(c->storage_dir);
	c->storage_dir = storage;
	choose_ca_bundle(c);
	if (!c->docker)
		c->docker = xstrdup("docker");
	if (!c->kubectl)
		c->kubectl = xstrdup("kubectl");
}

static char *file_path(const struct config *c, const char *env_file)
{
	AUTO(freep) char *dir = xdg_dir(c, "XDG_CONFIG_HOME", ".config");
	return env_file ? xstrdup(env_file) : xasprintf("%s/.env", dir);
}

char *config_file_path(const char *env_file)
{
	return file_path(NULL, env_file);
}

/* A caller may also set the folders of settings, state and data. */
static bool may_be_given(const char *name)
{
	return config_knows(name) || streq(name, "XDG_CONFIG_HOME") || streq(name, "XDG_STATE_HOME") ||
	       streq(name, "XDG_DATA_HOME");
}

static int take_values(struct config *c, const char *const *values, struct fail *f)
{
	for (; values && *values; values++) {
		const char *equals = strchr(*values, '=');
		AUTO(freep) char *name = equals ? xstrndup(*values, (size_t)(equals - *values)) : NULL;
		if (!name)
			return fail_set(f, FAIL_INVALID, "setting '%.100s': expected NAME=value", *values);
		if (!may_be_given(name))
			return fail_set(f, FAIL_INVALID, "there is no setting '%.100s'", name);
		strv_add(&c->values, *values);
	}
	return 0;
}

int config_load(struct config *c, const char *env_file, struct fail *f)
{
	return config_load_from(c, &(struct config_source){ .environment = true, .file = true, .env_file = env_file },
				f);
}

int config_load_from(struct config *c, const struct config_source *source, struct fail *f)
{
	*c = (struct config){ .without_environment = !source->environment };
	if (take_values(c, source->values, f) < 0)
		goto failed;
	c->settings_file = file_path(c, source->env_file);
	if (source->file && config_load_file(c, c->settings_file, source->env_file != NULL, f) < 0)
		goto failed;
	c->state_dir = xdg_dir(c, "XDG_STATE_HOME", ".local/state");
	if (source->read_kept && source->read_kept(c, &c->kept, f) < 0)
		goto failed;
	for (size_t i = 0; i < config_n_settings; i++) {
		const char *value = config_lookup(c, config_settings[i].name);
		if (!value)
			value = config_settings[i].fallback;
		if (value && apply(c, &config_settings[i], value, f) < 0)
			goto failed;
	}
	if (refuse_root(c, f) < 0 || check_engine(c, f) < 0 || check_together(c, f) < 0 || check_ceilings(c, f) < 0 ||
	    fill_private_networks(c, f) < 0 || fill_network_rules(c, f) < 0 ||
	    warm_pool_parse(&c->warm_pool, c->warm_pool_text, f) < 0 || fill_images(c, f) < 0 ||
	    fill_allowed_dirs(c, f) < 0 || load_certificates(c, f) < 0)
		goto failed;
	fill_places(c);
	return 0;
failed:
	config_release(c);
	return -1;
}

void config_release(struct config *c)
{
	for (size_t i = 0; i < config_n_settings; i++)
		if (config_settings[i].kind >= SETTING_PATH)
			free(*(char **)((char *)c + config_settings[i].offset));
	free(c->state_dir);
	free(c->settings_file);
	free(c->certificates);
	strv_release(&c->import_allowed_dirs);
	strv_release(&c->private_networks);
	rules_release(&c->network_rules);
	strv_release(&c->image_names);
	strv_release(&c->pool_names);
	strv_release(&c->image_references);
	strv_release(&c->values);
	strv_release(&c->file);
	strv_release(&c->kept);
	*c = (struct config){ 0 };
}

/* True for a setting that names a package source, according to a runtime's manifest. */
static bool is_source(const char *name)
{
	size_t n;
	const struct runtime *list = runtime_list(&n);
	for (size_t i = 0; i < n; i++)
		for (const char *const *s = list[i].installer ? list[i].installer->settings : NULL; s && *s; s++)
			if (streq(*s, name))
				return true;
	return false;
}

bool config_knows(const char *name)
{
	return config_setting(name) || is_source(name) || strncmp(name, "HUSK_IMAGE_", 11) == 0;
}

static void add_sources(struct strv *ret, const struct installer *installer)
{
	for (const char *const *s = installer ? installer->settings : NULL; s && *s; s++)
		if (strv_find(ret, *s) == SIZE_MAX)
			strv_add(ret, *s);
}

void config_names(struct strv *ret)
{
	size_t n;
	const struct runtime *list = runtime_list(&n);
	char image[RUNTIME_SETTING_MAX];
	for (size_t i = 0; i < config_n_settings; i++)
		strv_add(ret, config_settings[i].name);
	for (size_t i = 0; i < n; i++)
		add_sources(ret, list[i].installer);
	for (size_t i = 0; i < n; i++) {
		runtime_image_setting(&list[i], image);
		strv_add(ret, image);
	}
}

static const char *runtime_default(const char *name)
{
	size_t n;
	const struct runtime *list = runtime_list(&n);
	char image[RUNTIME_SETTING_MAX];
	for (size_t i = 0; i < n; i++) {
		runtime_image_setting(&list[i], image);
		if (streq(image, name))
			return list[i].image;
	}
	return NULL;
}

const char *config_effective(const struct config *c, const char *name)
{
	const char *value = config_lookup(c, name);
	const struct setting *s = config_setting(name);
	/* config_load() completes paths and chooses some itself, so the field has the effective value. */
	if (s && s->kind == SETTING_PATH)
		return *(char *const *)((const char *)c + s->offset);
	if (value)
		return value;
	if (!s)
		return runtime_default(name);
	return s->fallback;
}

bool config_is_secret(const char *name)
{
	const struct setting *s = config_setting(name);
	return s ? s->kind == SETTING_SECRET : is_source(name);
}

bool config_is_plain(const char *name)
{
	const struct setting *s = config_setting(name);
	return s && s->kind < SETTING_BY_NAME;
}

/* Compared by value: "2g" is the same as the default 2048m. */
static bool is_default(const struct setting *s, const char *value)
{
	struct config given = { 0 }, usual = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	if (s->fallback && s->kind >= SETTING_PATH)
		return streq(value, s->fallback);
	if (!s->fallback || apply(&given, s, value, &f) < 0 || apply(&usual, s, s->fallback, &f) < 0)
		return false;
	size_t size = s->kind == SETTING_BOOL ? sizeof(bool) : sizeof(uint64_t);
	return memcmp((char *)&given + s->offset, (char *)&usual + s->offset, size) == 0;
}

void config_each_changed(const struct config *c, void (*fn)(void *ctx, const char *name, const char *value), void *ctx)
{
	for (size_t i = 0; i < config_n_settings; i++) {
		const char *value = config_lookup(c, config_settings[i].name);
		if (value && config_settings[i].kind != SETTING_BY_NAME && !is_default(&config_settings[i], value))
			fn(ctx, config_settings[i].name, config_is_secret(config_settings[i].name) ? NULL : value);
	}
}

const char *runtime_image(const struct runtime *runtime, const struct config *config)
{
	char name[RUNTIME_SETTING_MAX];
	runtime_image_setting(runtime, name);
	const char *image = config_lookup(config, name);
	return image ? image : runtime->image;
}
