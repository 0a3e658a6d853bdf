"""Foreign images that the operator lists: fitted once, or rejected with everything that they lack."""

import io
import json
import os
import re
import subprocess
import tarfile
import uuid

import pytest
from harness import ROOT, build_dir, clean_env, docker, store_rows, wait_until

PACKAGES = {image["name"]: image["packages_tag"] for image in json.loads((build_dir() / "images.json").read_text())}
# Python without IPython and pip, Node in an unusual place, and nothing of Husk's, not even its users.
BARE = """FROM {base}
RUN sed -i '/^sandbox:/d; /^husk:/d' /etc/passwd /etc/group && rm -rf /workspace && chmod 0755 /home && mkdir -p /opt/tools/bin
{more}
ENV PATH=/opt/tools/bin:/usr/local/bin:/usr/bin:/bin
"""
# Folders as in images whose programs do not run as root.
OWNED = "RUN mkdir -m 0700 /workspace && echo x >/workspace/file && chown -R 1000:1000 /workspace && chown 1000:1000 /home"
MOVED = "RUN mv /usr/local/bin/node /usr/local/bin/npm /opt/tools/bin/"


def build(folder, text):
    tag = f"husk-test-own:{uuid.uuid4().hex[:12]}"
    (folder / "Dockerfile").write_text(text)
    subprocess.run(["docker", "build", "--quiet", "--network", "none", "--tag", tag, str(folder)], stdin=subprocess.DEVNULL,
                   capture_output=True, check=True, timeout=300)
    return tag


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Names to references: two that fit, and one with nothing in it. They are removed afterwards, with the images that
    were made from them.
    """
    empty = f"husk-test-own:{uuid.uuid4().hex[:12]}"
    nothing = io.BytesIO()
    with tarfile.open(fileobj=nothing, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("empty"))
    subprocess.run(["docker", "import", "--change", "VOLUME /data", "-", empty], input=nothing.getvalue(), capture_output=True, check=True,
                   timeout=60)
    made = {"tools": build(tmp_path_factory.mktemp("tools"), BARE.format(base=PACKAGES["node"], more=MOVED)),
            "stats": build(tmp_path_factory.mktemp("stats"), BARE.format(base=PACKAGES["r"], more=OWNED)),
            "empty": empty}
    fitted = set()
    yield made, fitted
    for image in [*fitted, *made.values()]:
        docker("rmi", "--force", image, check=False)


@pytest.fixture
def offering(start, images):
    made, fitted = images
    server = start(CONTAINER_IMAGES=",".join(f"{name}={reference}" for name, reference in made.items()))
    yield server
    fitted.update(row[0] for row in store_rows(server.env, "SELECT image FROM sessions"))


SMOKE = {
    "python": ("tools", "import sys, os, IPython, pwd\nx = [1, 2]\nprint(sys.executable, pwd.getpwuid(os.getuid()).pw_name, IPython.__file__)\nsum(x)",
               "/usr/bin/python3 sandbox /opt/husk/ipython/", "x.append(3); sum(x)", "6"),
    "node": ("tools", "const y = [1, 2]; console.log(process.execPath, os.userInfo().username); y.length", "/opt/tools/bin/node sandbox",
             "y.push(3)", "3"),
    "r": ("stats", "z <- c(1, 2); cat(R.home(), Sys.info()[['user']], '\\n'); sum(z)", "/usr/lib/R sandbox", "z <- c(z, 3); sum(z)", "6"),
}


@pytest.mark.parametrize("language", SMOKE)
def test_a_session_runs_in_another_image(offering, language):
    image, first, words, second, value = SMOKE[language]
    session = offering.session(language=language, image=image, network=False)
    assert words in session.code(first).ok().text
    assert value in session.code(second).ok().text
    told = session.shell("echo $PATH; id -un; ls -ld /workspace ~ | cut -c1-10").ok().text.split()
    assert told == ["/home/sandbox/.local/bin:/opt/husk/deps/bin:/opt/tools/bin:/usr/local/bin:/usr/bin:/bin", "sandbox", "drwxr-xr-x", "drwxr-xr-x"]
    put = offering.call("import_files", {"session_id": session.id, "files": [{"file_content": "here", "destination": "a.txt"}]})
    got = offering.call("export_files", {"session_id": session.id, "files": [{"source": "a.txt"}]})
    assert put.fields["success"] and got.fields["success"], (put.text, got.text)
    [(kept,)] = store_rows(offering.env, "SELECT image FROM sessions")
    assert kept.startswith("husk-fit:") and docker("inspect", "--format", "{{.Config.Image}}", session.container).strip() == kept
    made = docker("image", "inspect", "--format", "{{.Created}}", kept)
    session.stop()
    offering.session(language=language, image=image, network=False).code("1").ok()
    assert docker("image", "inspect", "--format", "{{.Created}}", kept) == made, "fitted once"


def test_an_unfit_image_names_everything_it_lacks(offering):
    refused = offering.call("create_session", {"image": "empty", "network": False})
    assert refused.is_error and "does not fit the python runtime" in refused.text, refused.text
    for lack in ("VOLUME /data", "/bin/bash", "python3 on its PATH"):
        assert lack in refused.text
    assert offering.containers() == []


def test_dependencies_need_an_installer_in_the_image(offering):
    refused = offering.call("create_session", {"image": "tools", "dependencies": {"husk-nothing": ""}})
    assert refused.is_error and "This image has no pip" in refused.text, refused.text
    wait_until(lambda: offering.containers() == [], what="the installer's end")


def test_only_listed_images_are_offered(offering, server):
    def schema(of):
        return next(t for t in of.request("tools/list").result()["tools"] if t["name"] == "create_session")["inputSchema"]["properties"]

    assert schema(offering)["image"]["enum"] == ["tools", "stats", "empty"] and "image" not in schema(server)
    refused = offering.call("create_session", {"image": "debian:13"})
    assert refused.is_error and "'debian:13' is not offered here (offered: tools, stats, empty)" in refused.text
    assert "CONTAINER_IMAGES" in server.call("create_session", {"image": "tools"}).text


def test_the_example_of_the_page_works(images, tmp_path):
    """docs/images.md as written, except for its tag and its base image, which cannot be pulled here."""
    page = (ROOT / "docs" / "images.md").read_text()
    [example] = re.findall(r"```sh\n(.*?)```", page.split("## Your own image")[1], re.DOTALL)
    assert len(example.splitlines()) <= 10
    tag = f"husk-test-own:{uuid.uuid4().hex[:12]}"
    made, fitted = images
    script = example.replace("python:3.13-slim", made["tools"]).replace("my-tools", tag)
    env = clean_env(tmp_path / "home")
    env["PATH"] = f"{build_dir()}{os.pathsep}{env['PATH']}"
    done = subprocess.run(["bash", "-euc", script], cwd=tmp_path, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=300, check=False)
    fitted.add(tag)
    fitted.update(row[0] for row in store_rows(env, "SELECT image FROM sessions"))
    assert done.returncode == 0 and done.stdout.endswith("42\n"), done
