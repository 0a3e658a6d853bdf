"""MCP Apps: what clients hear of the extension, checked against its schema, and the document in the official host."""

import json

import jsonschema
import pytest

UI = "io.modelcontextprotocol/ui"
URI = "ui://husk/output"


@pytest.fixture
def report(serve, play):
    return json.loads(play("apps.mjs", serve()))


@pytest.fixture
def check(scripts):
    schema = json.loads((scripts / "node_modules/@modelcontextprotocol/ext-apps/dist/src/generated/schema.json").read_text())

    def check_one(name, value):
        jsonschema.validate(value, {**schema, "$ref": f"#/$defs/{name}"})

    return check_one


# evidence: page-apps
def test_a_run_in_a_client_that_shows_documents(report, check):
    for era in ("modern", "legacy"):
        heard, other = report[f"{era} with"], report[f"{era} without"]
        assert heard["extensions"][UI] == {"mimeTypes": ["text/html;profile=mcp-app"]}
        check("McpUiClientCapabilities", heard["extensions"][UI])
        tools = {tool["name"]: tool for tool in heard["tools"]}
        for name in ("execute_code", "execute_terminal", "show_run"):
            meta = tools[name].pop("_meta")
            assert meta["ui"]["resourceUri"] == meta["ui/resourceUri"] == URI
            check("McpUiToolMeta", meta["ui"])
        content = heard["read"]["contents"][0]
        assert (content["uri"], content["mimeType"]) == (URI, "text/html;profile=mcp-app")
        check("McpUiResourceMeta", content["_meta"]["ui"])
        assert [resource["uri"] for resource in heard["resources"]] == [URI]
        # Nothing else differs, and other clients hear nothing.
        tools.pop("show_run")
        assert list(tools.values()) == other["tools"]
        assert other["resources"] == [] and other["read"]["error"] in (-32602, -32002)
        assert UI not in other["extensions"]
    assert "ui" not in report["plain"]["_meta"]
    assert report["rich"]["_meta"]["ui"] == {"resourceUri": URI} and report["rich"]["_meta"]["ui/resourceUri"] == URI
    assert len(json.dumps(report["rich"])) < 20000, "large contents do not reach the model"
