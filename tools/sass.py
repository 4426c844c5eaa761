"""sass.py: the machine code of a build by kernels, for compare_sass.py and check_sass.py."""
import pathlib
import re
import subprocess


def listings(path):
    """{kernel: its lines as cuobjdump prints them}. path: a cubin, an object, or cuobjdump's output in a .sass file."""
    text = pathlib.Path(path).read_text() if path.endswith(".sass") else subprocess.run(
        ["cuobjdump", "-sass", path], check=True, capture_output=True, text=True).stdout
    parts = re.split(r"^\s*Function : ", text, flags=re.M)[1:]
    return {name.strip(): body for name, _, body in (part.partition("\n") for part in parts)}
