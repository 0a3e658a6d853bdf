#!/bin/sh
# npx, which looks for a command in the working directory's packages, in global ones and on the web. Those that create_session installed are
# in none of these places: they come right after the working directory's.
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
