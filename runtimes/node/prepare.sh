#!/bin/sh
# Runs as root while the image is built, in /opt/husk/kernel, without a network.
chmod 0755 npx.sh
mv npx.sh /usr/local/bin/npx
