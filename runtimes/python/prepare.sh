#!/bin/sh
# Runs as root while the image is built, in /opt/husk/kernel, without a network.
# unchecked-hash: Python uses the compiled files without checking the sources' time or content.
python3 -m compileall -q --invalidation-mode unchecked-hash .
# Every Python process of a session, also one in the terminal, finds the packages that create_session installed, and
# waits for pyarrow's threads when it ends.
cp husk_deps.py husk_arrow.py husk_values.py /usr/lib/python3/dist-packages/
echo 'import husk_deps, husk_arrow' > /usr/lib/python3/dist-packages/husk_deps.pth
python3 -m compileall -q /usr/lib/python3/dist-packages/husk_deps.py /usr/lib/python3/dist-packages/husk_arrow.py \
	/usr/lib/python3/dist-packages/husk_values.py
python3 -c 'import pandas; pandas.DataFrame({"a": [1]}).to_parquet("/tmp/a"); assert pandas.read_parquet("/tmp/a").a[0] == 1'
rm /tmp/a
# IPython and its dependencies, all pure Python, for images that have Python but not IPython: fit.py unpacks them there.
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
