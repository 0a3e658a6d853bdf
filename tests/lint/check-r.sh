#!/usr/bin/env bash
# Runs check-r.R on the R kernel, in the image with the packages of the R runtime, so R need not be on the host.
home=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$home/lib.sh"

mapfile -t sources < <(files 'runtimes/*.R')
[ ${#sources[@]} -gt 0 ] || exit 0

images=$home/../../${BUILD:-build}/images.json
image=$(python3 -c 'import json, sys
print(*(i["packages_tag"] for i in json.load(open(sys.argv[1])) if i["name"] == "r"))' "$images") || {
	echo "no $images: run make"
	exit 1
}

# Files are sent through a pipe, because the engine may be on another machine.
report=$(tar -cf - "${sources[@]}" -C "$home" check-r.R |
	docker run --rm --interactive --network none --user 65532:65532 --tmpfs /tmp --workdir /tmp "$image" \
		sh -c 'tar -xf - && Rscript --vanilla check-r.R "$@"' sh "${sources[@]}" 2>&1) || complain "$report"

finish
