# Thin: meson builds, setup-docker.sh makes the images, tests/run tests.
BUILD ?= build
export BUILD

.PHONY: all build-deps test-deps compile images run test measure soak fuzz format clean

all: build-deps compile

build-deps:
	@tools/install-deps.sh build

test-deps:
	@tools/install-deps.sh test

compile:
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD)
	@ninja -C $(BUILD)

images:
	@./setup-docker.sh --images $(BUILD)/images.json

run:
	@$(MAKE) --no-print-directory build-deps
	@$(MAKE) --no-print-directory compile
	@$(MAKE) --no-print-directory images
	@tools/with-docker.sh $(BUILD)/husk demo

test:
	@$(MAKE) --no-print-directory test-deps
	@$(MAKE) --no-print-directory compile
	@$(MAKE) --no-print-directory images
	@tools/with-docker.sh tests/run

measure:
	@$(MAKE) --no-print-directory compile
	@$(MAKE) --no-print-directory images
	@tools/with-docker.sh tests/kernel/measure.py

chaos:
	@$(MAKE) --no-print-directory test-deps
	@$(MAKE) --no-print-directory compile
	@$(MAKE) --no-print-directory images
	@tools/with-docker.sh $(BUILD)/venv/bin/python -B tests/chaos/chaos.py --kills 1000 --log $(BUILD)/chaos.log

# Memory over 10,000 calls and 200 sessions; ROUNDS chooses another number of sessions.
soak:
	@$(MAKE) --no-print-directory test-deps
	@$(MAKE) --no-print-directory compile
	@$(MAKE) --no-print-directory images
	@HUSK_SOAK_ROUNDS=$(or $(ROUNDS),200) tools/with-docker.sh $(BUILD)/venv/bin/python -B -m pytest -c tests/pytest.ini --rootdir tests \
		-q -s tests/e2e/test_soak.py

fuzz:
	@$(MAKE) --no-print-directory test-deps
	@tests/fuzz/run.sh

# 200 SIGKILLs on each store; KILLS and SEED choose others.
kills:
	@$(MAKE) --no-print-directory test-deps
	@$(MAKE) --no-print-directory compile
	@$(MAKE) --no-print-directory images
	@tools/with-docker.sh $(BUILD)/venv/bin/python tests/e2e/kills.py --kills $(or $(KILLS),200) $(if $(SEED),--seed $(SEED))

format:
	@clang-format -i $$(git ls-files '*.c' '*.h')

clean:
	@rm -rf $(BUILD)
