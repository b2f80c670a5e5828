"""Pages of the docs whose tables are made: the words around them are the page's own."""

import re


def with_table(page: str, name: str, table: str) -> str:
    """The page with the table of that name in place of the one that stood there.

    A table stands between two marks, ``<!-- name -->`` and ``<!-- /name -->``.
    """
    between = re.compile(f"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    if not between.search(page):
        raise SystemExit(f"The page has no place for the table {name!r}.")
    return between.sub(lambda match: f"{match[1]}\n{table}\n\n{match[2]}", page)
