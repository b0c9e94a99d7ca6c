"""Links of Markdown pages that lead nowhere."""

import re


def prose(page):
    """The text without its blocks of code, and without words that are set as code."""
    text = re.sub(r"^(```|~~~).*?^\1", "", page.read_text(), flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", lambda code: "x" * len(code[0]), text)


def anchors(page):
    """What the headings of a page are called in addresses, as GitHub does."""
    found = []
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    for heading in re.findall(r"^#+ +(.*?) *$", text, re.M):
        heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")
        found.append(f"{name}-{found.count(name)}" if name in found else name)
    return found


def dead_links(pages):
    """(page, link) of each; links to other sites are not followed."""
    dead = []
    for page in pages:
        for link in re.findall(r"\]\(([^)\s]+)", prose(page)):
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            is_elsewhere = re.match(r"[a-z]+:", link)
            if not is_elsewhere and (not target.exists() or (anchor and anchor not in anchors(target))):
                dead.append((str(page), link))
    return dead
