#!/bin/sh
# Runs as root while the image is built, in /opt/husk/kernel, without a network.
# unchecked-hash: Python trusts the result without looking at the source's time or content.
python3 -m compileall -q --invalidation-mode unchecked-hash .
# Every Python of a session, also one in the terminal, finds the packages that create_session installed.
cp husk_deps.py /usr/lib/python3/dist-packages/
echo 'import husk_deps' > /usr/lib/python3/dist-packages/husk_deps.pth
python3 -m compileall -q /usr/lib/python3/dist-packages/husk_deps.py
# IPython and its dependencies, all pure Python, for images that only have Python itself: fit.py unpacks it there.
python3 - <<'END'
import pathlib, zipfile

packages = pathlib.Path("/usr/lib/python3/dist-packages")
names = ("IPython ipython-*.dist-info traitlets decorator.py pygments stack_data executing asttokens pure_eval matplotlib_inline "
         "prompt_toolkit wcwidth pexpect ptyprocess typing_extensions.py")
with zipfile.ZipFile("ipython.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
    for name in names.split():
        found = [file for top in packages.glob(name) for file in ([top] if top.is_file() else sorted(top.rglob("*"))) if file.is_file()]
        assert found, name
        for file in found:
            if "__pycache__" not in file.parts and "tests" not in file.parts:
                archive.write(file, file.relative_to(packages))
END
