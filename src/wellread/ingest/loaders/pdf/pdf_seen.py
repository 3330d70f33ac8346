"""Whether letters of a PDF are seen on the page: white or unpainted ones mostly are not.

The text that recognition lays under the picture of a scanned page is unpainted too, and white
letters may stand on a dark ground; so the page is drawn, and what shows nothing where the letters
should be is not read. Only a page with such letters is drawn.
"""

from __future__ import annotations

from ctypes import c_uint

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_raw
from numpy.typing import NDArray

from wellread.types import Box

PALE, FAINT = 0xFF - 24, 25  # of a colour, of how opaque it is
UNPAINTED = (3, 7)  # ways of drawing letters: not at all, and to clip by
CONTRAST = 32  # of 255, between the darkest and the brightest dot where letters stand
MOST_DOTS = 1600  # of the longer side of a drawn page


def is_doubtful(layer: pdfium.PdfTextPage, place: int) -> bool:
    """Whether the letter is drawn in white, almost transparent, or not at all."""
    colour = [c_uint() for _ in range(4)]
    if pdfium_raw.FPDFText_GetFillColor(layer, place, *colour):
        *mixed, opaque = (part.value for part in colour)
        if opaque <= FAINT or min(mixed) >= PALE:
            return True
    drawn = pdfium_raw.FPDFText_GetTextObject(layer, place)
    return bool(drawn) and pdfium_raw.FPDFTextObj_GetTextRenderMode(drawn) in UNPAINTED


class Picture:
    """A page as it is seen; drawn when it is first asked for."""

    def __init__(self, page: pdfium.PdfPage) -> None:
        self._page = page
        self._dots: NDArray[np.uint8] | None = None

    def shows(self, box: Box) -> bool:
        """Whether anything stands out in ``box``."""
        if self._dots is None:
            scale = min(2.0, MOST_DOTS / max(*self._page.get_size(), 1.0))
            self._dots = self._page.render(scale=scale, grayscale=True).to_numpy().squeeze()
        height, width = self._dots.shape[:2]
        part = self._dots[
            int(box.top * height) : max(int(box.bottom * height), int(box.top * height) + 1),
            int(box.left * width) : max(int(box.right * width), int(box.left * width) + 1),
        ]
        return part.size > 0 and int(part.max()) - int(part.min()) >= CONTRAST
