#!/usr/bin/env bash
# Runs a command with access to the engine: tools/with-docker.sh COMMAND…
# A user who was just added to the docker group is in it only after the next login. `sg` runs this one command in the
# group.
set -euo pipefail

socket=/var/run/docker.sock
if [ -z "${DOCKER_HOST-}" ] && [ -S $socket ] && [ ! -w $socket ] && command -v sg >/dev/null &&
	id -nG "$(id -un)" | tr ' ' '\n' | grep -qx docker; then
	exec sg docker -c "$(printf '%q ' "$@")"
fi
exec "$@"
