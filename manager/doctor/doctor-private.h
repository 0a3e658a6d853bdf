/* The parts of doctor: a list of findings, and the checks that fill it. Private to the doctor and its tests. */
#ifndef HUSK_MANAGER_DOCTOR_DOCTOR_PRIVATE_H
#define HUSK_MANAGER_DOCTOR_DOCTOR_PRIVATE_H

#include "kernels/protocol.h"
#include "manager/engine/engine.h"
#include "manager/manager.h"
#include "manager/model/config.h"

#define FIX_SETUP "run `husk setup`"

struct checks {
	struct check *v;
	size_t n;
};

/* Adds a check. Its texts are cleaned and cut to a limit, since paths and texts of the engine can contain anything.
 * fix may be NULL. */
void checks_add(struct checks *c, const char *name, enum check_status status, const char *fix, const char *fmt, ...)
	PRINTF_LIKE(5, 6);
void checks_release(struct checks *c);

/* --- verdicts on answers of the engine: pure (engine.c, age.c) --------------------------------------------- */
void doctor_judge_client(struct checks *c, const char *path, const struct engine_client *client);
void doctor_judge_place(struct checks *c, const struct engine_place *place);
/* Where the pods of sessions are, if the engine is a cluster. */
void doctor_judge_cluster(struct checks *c, const struct config *config, const struct engine_place *place);
void doctor_judge_hosts(struct checks *c, const struct engine_hosts *hosts);
/* wanted: the engine that CONTAINER_ENGINE names. */
void doctor_judge_engine(struct checks *c, const char *wanted, const struct engine_version *engine);
/* Reports what sessions on this engine do without, one check for each missing capability. config NULL = the settings
 * are not valid. */
void doctor_judge_capabilities(struct checks *c, const struct config *config, const char *engine,
			       const struct engine_capabilities *can);
/* Compares the versions with known container escapes. Adds nothing for engines other than docker. */
void doctor_judge_age(struct checks *c, const struct engine_version *engine);
/* machine: the architecture that this program was built for, in the words of uname. */
void doctor_judge_info(struct checks *c, const struct engine_info *info, const char *machine);
/* Checks the engine's runtime: the program that runs containers. */
void doctor_judge_runtime(struct checks *c, const struct config *config, const struct engine_info *info);
/* usual: the name is that of this build's image, not one from HUSK_IMAGE_*. image NULL = it does not exist. */
void doctor_judge_image(struct checks *c, const struct runtime *runtime, const char *name, bool usual,
			const struct engine_image *image);
/* An image of CONTAINER_IMAGES. Sessions work without it. */
void doctor_judge_listed_image(struct checks *c, const char *name, const char *reference,
			       const struct engine_image *image);
void doctor_judge_network(struct checks *c, const struct engine_network *network);
/* The first judges the state of the firewall rules around sessions. The second reports why it is unknown. */
void doctor_judge_fence(struct checks *c, const struct config *config, enum engine_fence fence);
void doctor_judge_no_fence(struct checks *c, const struct config *config, const struct fail *f);
/* now in seconds since the epoch. */
void doctor_judge_containers(struct checks *c, const struct config *config, const struct engine_containers *containers,
			     uint64_t now);
/* Compares the limits of sessions with the engine's resources. info NULL = unknown. */
void doctor_judge_limits(struct checks *c, const struct config *config, const struct engine_info *info);

/* --- the kernel (kernel.c) --------------------------------------------------------------------------------- */
struct kernel_facts {
	bool is_ours;		    /* the engine runs on this machine's kernel; the rest is known only then */
	int landlock;		    /* version of Landlock; 0 = not available */
	bool is_gvisor;		    /* sessions have their own kernel */
	uint64_t ptys, ptys_max;    /* pseudo-terminals in use, and the limit for containers; 0 = unknown */
	enum support bridge_filter; /* iptables sees traffic across a bridge */
};
/* engine_kernel: the kernel release that the engine reports; may be NULL. */
void doctor_read_kernel(struct kernel_facts *ret, const char *engine_kernel);
/* Pure. */
void doctor_judge_kernel(struct checks *c, const struct engine_info *info, const struct kernel_facts *k);

/* --- files and settings (files.c) -------------------------------------------------------------------------- */
/* The full path of the executable `name`, found in the same way as for child processes of the loop; NULL if there is
 * none. The caller owns it. */
char *doctor_find_program(const char *name);
/* f: why the settings could not be loaded; NULL = config is valid. */
void doctor_check_settings(struct checks *c, const struct config *config, const struct fail *f);
/* Reports the size of the warm pool, and checks that it leaves room for sessions. */
void doctor_check_warm_pool(struct checks *c, const struct config *config);
void doctor_check_settings_file(struct checks *c, const char *env_file, const struct config *config);
/* Checks a folder that is created when needed: it, or the nearest existing folder above it, must be writable. */
void doctor_check_folder(struct checks *c, const char *name, const char *path);
/* f: why the store does not answer; NULL = it does, or does not exist yet. Also checks the key of sealed settings. */
void doctor_judge_store(struct checks *c, const struct config *config, const struct fail *f);

/* --- the probe (probe.c) ----------------------------------------------------------------------------------- */
/* The command that runs the probe in a session. */
#define DOCTOR_PROBE PROBE_PATH
struct probe_detail {
	bool all;     /* also shows acts that were blocked; otherwise only the others and the totals */
	bool verbose; /* one check for each act, instead of one for each group */
};
/* f: the probe could not run. An act whose outcome is unknown is a warning. */
void doctor_judge_probe(struct checks *c, const struct runtime *runtime, const struct probe_detail *detail,
			const struct run_result *result, const struct fail *f);

/* --- real sessions (trial.c) ------------------------------------------------------------------------------- */
struct trial;
/* Tries each runtime in turn and adds checks for each, then calls done from the loop. config, c and ctx must outlive
 * the trial. */
struct trial *trial_new(struct loop *loop, const struct config *config, bool verbose, struct checks *c,
			void (*done)(void *ctx), void *ctx);
struct trial *trial_free(struct trial *t);

#endif
