"""The paper's tables and figures, made by one call or by the command ``rankad reproduce``.

>>> from rankad.reproduce import reproduce
>>> from tempfile import TemporaryDirectory
>>> with TemporaryDirectory() as folder:
...     made = reproduce(["fig1"], out=folder)
...     [path.name for path in made.files]
['fig1.png', 'fig1.svg']
"""

from rankad.reproduce.api import TARGETS, Reproduction, output_folder, reproduce
from rankad.reproduce.errors import RecordsError, ReproductionError
from rankad.reproduce.records import read_records
from rankad.reproduce.results import Results

__all__ = ["Reproduction", "ReproductionError", "reproduce"]
