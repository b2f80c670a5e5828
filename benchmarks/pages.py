"""Pages of the docs whose tables are made by a command; the words around them are not."""

import re


def with_table(page: str, name: str, table: str) -> str:
    """The page with this table in place of the previous table of that name.

    A table is between two marks, ``<!-- name -->`` and ``<!-- /name -->``.
    """
    between = re.compile(f"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    if not between.search(page):
        raise SystemExit(f"The page has no place for the table {name!r}.")
    return between.sub(lambda match: f"{match[1]}\n{table}\n\n{match[2]}", page)
