# A thin wrapper: meson builds, setup-docker.sh makes the images, tests/run tests.
BUILD ?= build
export BUILD

# make install: the prefix of the installed tree; DESTDIR goes in front of it.
PREFIX ?= /usr/local

.PHONY: all install dist build-deps test-deps dist-deps compile images test-images run test test-long measure bench fuzz pages screenshots format clean

all: build-deps compile

build-deps:
	@tools/install-deps.sh build

test-deps:
	@tools/install-deps.sh test

dist-deps:
	@tools/install-deps.sh dist

# Builds what is installed and what the images need. tests/run builds the tests, and `ninja -C $(BUILD)` builds
# everything.
compile:
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD)
	@ninja -C $(BUILD) programs

# A separate build for the prefix. Its programs for the images are identical, so the image names agree.
install:
	@test -f $(BUILD)-install/build.ninja || meson setup $(BUILD)-install --prefix $(PREFIX) >/dev/null
	@meson configure $(BUILD)-install --prefix $(PREFIX)
	@ninja -C $(BUILD)-install programs
	@meson install -C $(BUILD)-install --no-rebuild --quiet

# Debian packages, a wheel, an npm package and an MCP bundle, in $(BUILD)/dist. KINDS chooses some: make dist KINDS="deb wheel".
dist:
	@$(MAKE) --no-print-directory dist-deps
	@$(MAKE) --no-print-directory compile
	@tools/dist/dist.py --build $(BUILD) $(KINDS)

images:
	@./setup-docker.sh --images $(BUILD)/images.json

# Also builds the runtimes of runtimes/contrib/ that every run of the tests uses, or CONTRIB= for all of them.
CONTRIB ?= bash,ipykernel
test-images:
	@ninja -C $(BUILD) runtimes/contrib/husk-contrib kernels/jupyter/husk-jupyter
	@./setup-docker.sh --images $(BUILD)/runtimes/contrib/images.json $(if $(CONTRIB),--runtime $(CONTRIB))

run:
	@$(MAKE) --no-print-directory build-deps
	@$(MAKE) --no-print-directory compile
	@$(MAKE) --no-print-directory images
	@tools/with-docker.sh $(BUILD)/husk demo

test:
	@$(MAKE) --no-print-directory test-deps
	@$(MAKE) --no-print-directory compile
	@$(MAKE) --no-print-directory images
	@$(MAKE) --no-print-directory test-images
	@tools/with-docker.sh tests/run

measure:
	@$(MAKE) --no-print-directory compile
	@$(MAKE) --no-print-directory images
	@tools/with-docker.sh tests/kernel/measure.py

# Husk beside its peers, in one run (docs/bench.md); fails if a call failed or a budget is missed. QUICK=1 runs a fifth of the rounds, SAVE=1 writes the page.
bench:
	@$(MAKE) --no-print-directory test-deps
	@$(MAKE) --no-print-directory compile
	@$(MAKE) --no-print-directory images
	@$(MAKE) --no-print-directory test-images CONTRIB=ipykernel
	@tools/with-docker.sh bench/run $(if $(QUICK),--quick) $(if $(SAVE),--save) $(PARTS)

# Tests that take too long for every run: the unit tests without sanitizers, the table of behaviours for every runtime of
# contrib and under gVisor, on Podman and on Docker 26, sessions in a Kubernetes cluster of two nodes, a thousand kills, soak, 1 GB and 100,000 files, fresh seeds, HTTP behind proxies and under load, ten minutes of fuzzing a target,
# and the commands of the documents. PARTS chooses some: make test-long PARTS="chaos soak". Only the part contrib needs the images of all runtimes.
test-long:
	@$(MAKE) --no-print-directory test-deps
	@$(MAKE) --no-print-directory compile
	@$(MAKE) --no-print-directory images
	@$(MAKE) --no-print-directory test-images $(if $(PARTS),$(if $(filter contrib,$(PARTS)),CONTRIB=),CONTRIB=)
	@tools/with-docker.sh tests/run --long $(PARTS)

fuzz:
	@$(MAKE) --no-print-directory test-deps
	@tests/fuzz/run.sh

# Writes the pages that come from tables in the code: settings, man pages.
pages:
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD)
	@ninja -C $(BUILD) tools/pages/pages
	@$(BUILD)/tools/pages/pages docs

# Takes the pictures of the page for the documentation.
screenshots:
	@$(MAKE) --no-print-directory test-deps
	@$(MAKE) --no-print-directory compile
	@$(MAKE) --no-print-directory images
	@tools/with-docker.sh tests/page/screenshots.py

format:
	@clang-format -i $$(git ls-files '*.c' '*.h')

clean:
	@rm -rf $(BUILD)
