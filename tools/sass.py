"""sass.py: the machine code of a build by kernels, for compare_sass.py and check_sass.py."""
import pathlib
import re
import subprocess


def listings(path):
    """{kernel: its lines as cuobjdump prints them}. path: a cubin, an object, a program, or cuobjdump's output in a .sass file.
    The architecture follows the kernel's name if there is code for several."""
    text = pathlib.Path(path).read_text() if path.endswith(".sass") else subprocess.run(
        ["cuobjdump", "-sass", path], check=True, capture_output=True, text=True).stdout
    before, *sections = re.split(r"^\s*code for (sm_\w+)\s*$", text, flags=re.M)
    codes = list(zip(sections[::2], sections[1::2])) or [("", before)]
    several = len({arch for arch, _ in codes}) > 1
    found = {}
    for arch, code in codes:
        for part in re.split(r"^\s*Function : ", code, flags=re.M)[1:]:
            name, _, body = part.partition("\n")
            found[f"{name.strip()} {arch}" if several else name.strip()] = body
    return found
