/* The parts of manager/doctor: a list of findings, and what makes them. Private to the doctor and its tests. */
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

/* Cleans and bounds what it is given: paths and engines' words may be anything. fix may be NULL. */
void checks_add(struct checks *c, const char *name, enum check_status status, const char *fix, const char *fmt, ...)
	PRINTF_LIKE(5, 6);
void checks_release(struct checks *c);

/* --- verdicts on answers of the engine: pure (engine.c) ---------------------------------------------------- */
void doctor_judge_client(struct checks *c, const char *path, const struct engine_client *client);
void doctor_judge_place(struct checks *c, const struct engine_place *place);
void doctor_judge_engine(struct checks *c, const struct engine_version *engine);
/* Against the escapes that are known; nothing for engines that are not docker's. */
void doctor_judge_age(struct checks *c, const struct engine_version *engine);
/* machine: what this program was built for, as uname says it. */
void doctor_judge_info(struct checks *c, const struct engine_info *info, const char *machine);
/* What containers are run with. */
void doctor_judge_runtime(struct checks *c, const struct config *config, const struct engine_info *info);
/* usual: it is the image of this build, not one that HUSK_IMAGE_* names. image NULL = it is not there. */
void doctor_judge_image(struct checks *c, const struct runtime *runtime, const char *name, bool usual,
			const struct engine_image *image);
/* One of CONTAINER_IMAGES; sessions without it work. */
void doctor_judge_listed_image(struct checks *c, const char *name, const char *reference,
			       const struct engine_image *image);
void doctor_judge_network(struct checks *c, const struct engine_network *network);
/* The firewall rules around sessions, as they were found; or why they were not (fence.c). */
void doctor_judge_fence(struct checks *c, const struct config *config, enum engine_fence fence);
void doctor_judge_no_fence(struct checks *c, const struct config *config, const struct fail *f);
/* now in seconds since the epoch. */
void doctor_judge_containers(struct checks *c, const struct config *config, const struct engine_containers *containers,
			     uint64_t now);
/* What sessions may use of what the engine has. info NULL = not known. */
void doctor_judge_limits(struct checks *c, const struct config *config, const struct engine_info *info);

/* --- the kernel (kernel.c) --------------------------------------------------------------------------------- */
struct kernel_facts {
	bool is_ours;		    /* the engine runs on the kernel that we run on; the rest is known only then */
	int landlock;		    /* its version, 0 = none */
	bool is_gvisor;		    /* sessions have another one */
	uint64_t ptys, ptys_max;    /* pseudo-terminals in use, and how many containers may have; 0 = not known */
	enum support bridge_filter; /* iptables sees what passes a bridge */
};
/* engine_kernel: as the engine names it; may be NULL. */
void doctor_read_kernel(struct kernel_facts *ret, const char *engine_kernel);
/* Pure. */
void doctor_judge_kernel(struct checks *c, const struct engine_info *info, const struct kernel_facts *k);

/* --- files and settings (files.c) -------------------------------------------------------------------------- */
/* The full path of an executable `name`, as the loop's children find it; NULL if there is none. The caller owns it. */
char *doctor_find_program(const char *name);
/* f: why the settings could not be loaded, or NULL and config. */
void doctor_check_settings(struct checks *c, const struct config *config, const struct fail *f);
/* What is kept ready, and whether that leaves room for sessions. */
void doctor_check_warm_pool(struct checks *c, const struct config *config);
void doctor_check_settings_file(struct checks *c, const char *env_file, const struct config *config);
/* A folder that is made when it is needed: it, or the first folder above it that is there, must be writable. */
void doctor_check_folder(struct checks *c, const char *name, const char *path);
/* f: why it does not answer; NULL = it does, or is not there yet. Looks at the key of sealed settings too. */
void doctor_judge_store(struct checks *c, const struct config *config, const struct fail *f);

/* --- what must not work (probe.c) -------------------------------------------------------------------------- */
/* The command that tries it, in a session. */
#define DOCTOR_PROBE PROBE_PATH
struct probe_detail {
	bool all;     /* also the acts that held; else only the others, and the sum */
	bool verbose; /* a check for each act, not one for each group */
};
/* f: it could not be tried. An act that cannot tell is a warning. */
void doctor_judge_probe(struct checks *c, const struct runtime *runtime, const struct probe_detail *detail,
			const struct run_result *result, const struct fail *f);

/* --- real sessions (trial.c) ------------------------------------------------------------------------------- */
struct trial;
/* Tries each runtime in turn and adds a check for each, then calls done from the loop. All but loop must outlive it. */
struct trial *trial_new(struct loop *loop, const struct config *config, bool verbose, struct checks *c,
			void (*done)(void *ctx), void *ctx);
struct trial *trial_free(struct trial *t);

#endif
