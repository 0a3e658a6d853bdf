#!/bin/sh
# Runs as root while the image is built, in /opt/husk/kernel, without a network.
# unchecked-hash: Python trusts the result without looking at the source's time or content.
python3 -m compileall -q --invalidation-mode unchecked-hash .
# Every Python of a session, also one in the terminal, finds what create_session installed.
mv husk_deps.py /usr/lib/python3/dist-packages/
echo 'import husk_deps' > /usr/lib/python3/dist-packages/husk_deps.pth
python3 -m compileall -q /usr/lib/python3/dist-packages/husk_deps.py
