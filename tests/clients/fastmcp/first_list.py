"""Prints the names of the tools that `fastmcp list` shows, as one line of JSON."""

import argparse
import json
import pathlib
import shlex
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--transport", choices=["http", "stdio"])
parser.add_argument("--mode")
parser.add_argument("target", nargs="+")
asked = parser.parse_args()
program = pathlib.Path(sys.executable).with_name("fastmcp")
where = asked.target if asked.transport == "http" else ["--command", shlex.join(asked.target)]
# The default of five seconds is what a person gets, and a server that compiles may need longer.
command = [program, "list", *where, "--json", "--timeout", "120"]
output = subprocess.run(command, capture_output=True, text=True)
if output.returncode != 0:
    sys.exit(f"{output.stdout}\n{output.stderr}")
print(json.dumps({"tools": [tool["name"] for tool in json.loads(output.stdout)["tools"]]}))
