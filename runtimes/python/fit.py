"""Prepares an image that was not built by Husk for this runtime. husk-fit runs this file with the image's own Python,
first to check the image, then to prepare it.

An output line that begins with "lacks " names something that the image lacks. A line that begins with "no-installer "
says why packages cannot be installed into the image. IPython and its dependencies are pure Python and are shipped as
ipython.zip; if the image has one of these modules itself, that one is used instead.
"""

import compileall
import importlib.util
import os
import py_compile
import re
import shutil
import site
import sys
from importlib import metadata

OLDEST = (3, 12)
KERNEL = "/opt/husk/kernel"
BUNDLED = "/opt/husk/ipython"  # kernel.py looks here last
NEEDED = ("asyncio", "ctypes", "json", "select", "socket", "sqlite3", "ssl", "zlib")


def lacks(what):
    print("lacks", what)


def version_of(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def check():
    if sys.version_info < OLDEST:
        oldest, own = (".".join(map(str, version[:2])) for version in (OLDEST, sys.version_info))
        lacks(f"Python {oldest} or newer: {sys.executable} is {own}")
    for name in NEEDED:
        try:
            __import__(name)
        except ImportError as error:
            lacks(f"Python's own module {name} ({error})")
    shell = version_of("ipython")
    if shell and int(shell.split(".")[0]) < 8:
        lacks(f"IPython 8, or none: it has {shell}")
    if importlib.util.find_spec("pip") is None:
        print(f"no-installer This image has no pip for {sys.executable}: dependencies cannot be installed into it.",
              "Add pip to the image, or the packages themselves.")


def compile_all(folder):
    # As in prepare.sh: Python uses the compiled files without checking their sources. Modules that the kernel never
    # loads are not compiled.
    rare = re.compile(r"/prompt_toolkit/|/wcwidth/|/IPython/(terminal|testing|sphinxext|external|extensions)/"
                      r"|/pygments/(styles|formatters|lexers/(?!__init__|_mapping|python))")
    compileall.compile_dir(folder, quiet=2, rx=rare, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)


def prepare():
    shutil.unpack_archive(f"{KERNEL}/ipython.zip", BUNDLED)
    for folder, _, files in os.walk(BUNDLED):
        os.chmod(folder, 0o755)
        for file in files:
            os.chmod(os.path.join(folder, file), 0o644)
    compile_all(BUNDLED)
    compile_all(KERNEL)
    # Makes every Python process of a session find the packages that create_session installed.
    target = site.getsitepackages()[0]
    os.makedirs(target, exist_ok=True)
    for module in ("husk_deps", "husk_arrow", "husk_values"):
        shutil.copy(f"{KERNEL}/{module}.py", target)
    with open(f"{target}/husk_deps.pth", "w", encoding="utf-8") as file:
        file.write("import husk_deps, husk_arrow\n")
    shutil.rmtree("/opt/husk/matplotlib", ignore_errors=True)  # lists the fonts of another image
    sys.path.append(BUNDLED)
    try:
        from IPython.core import interactiveshell  # noqa: F401
    except Exception as error:
        lacks(f"packages that IPython works with ({type(error).__name__}: {error})")


{"check": check, "prepare": prepare}[sys.argv[1]]()
