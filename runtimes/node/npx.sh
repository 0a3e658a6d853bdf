#!/bin/sh
# npx looks for a command in the packages of the working directory, in global ones and on the web. Packages that
# create_session installed are in none of these places: they are tried right after those of the working directory.
deps=/opt/husk/deps/node_modules/.bin
for word; do
	case $word in
	-y | --yes | --no | --no-install | -q | --quiet | -s | --silent) continue ;;
	esac
	break
done
case ${word-} in
'' | -* | */* | *@*) ;;
*)
	if [ -x "$deps/$word" ] && [ ! -e "node_modules/.bin/$word" ]; then
		while [ "$1" != "$word" ]; do shift; done
		shift
		exec "$deps/$word" "$@"
	fi
	;;
esac
exec /usr/local/lib/node_modules/npm/bin/npx-cli.js "$@"
