"""generated.py: writes the generated parts of pages, for the scripts that make tables from docs/measurements."""
import re
import sys


def filled(page, texts):
    """The text of a page with each text of {name: text} between its markers, <!-- BEGIN name --> and <!-- END name -->.
    A page that does not have each pair of markers once is an error."""
    new = page.read_text()
    for name, text in texts.items():
        begin, end = new.count(f"<!-- BEGIN {name} -->\n"), new.count(f"<!-- END {name} -->")
        new, found = re.subn(rf"(<!-- BEGIN {name} -->\n).*?(<!-- END {name} -->)",
                             lambda m, text=text: f"{m[1]}{text}\n{m[2]}", new, flags=re.S)
        if (begin, end, found) != (1, 1, 1):
            sys.exit(f"{page.name}: the markers BEGIN {name} and END {name} do not stand there once")
    return new


def main(script, pages):
    """Writes the pages {path: {name: text}}, or with --check fails if one differs. Exits with status 2 for other
    arguments."""
    if sys.argv[1:] not in ([], ["--check"]):
        print(f"{script}: {' '.join(sys.argv[1:])}: the only option is --check", file=sys.stderr)
        sys.exit(2)
    new = {page: filled(page, texts) for page, texts in pages.items()}
    different = [page for page, text in new.items() if text != page.read_text()]
    if sys.argv[1:] and different:
        sys.exit(f"{script}: pages that differ from their sources: {', '.join(page.name for page in different)}")
    for page in different:
        page.write_text(new[page])
