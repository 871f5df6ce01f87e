"""Labels of points that keep clear of each other, of the points and of the frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.transforms import Bbox

Point = npt.NDArray[np.float64]

FONT_SIZE = 8
POINT_RADIUS = 4.5
BAR_RADIUS = 1.0
DISTANCES = (7, 14, 26, 40, 58)
ANGLES = (45, 135, 315, 225, 0, 180, 90, 270, 22, 158, 202, 338)


def place_labels(axis: Any, x: Point, y: Point, labels: list[str], bars: Point) -> None:
    """Write each label at the nearest free place around its point, with a line to the point when it is far.

    `bars` (n, 4) are boxes to keep clear of too: x0, y0, x1, y1 in data units, a line where two agree. Places are tried
    from near to far; where none is free the least covered one is taken. Axis limits must be final.
    """
    figure = axis.figure
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    scale = figure.dpi / 72
    centres = axis.transData.transform(np.column_stack([x, y]))
    ends = axis.transData.transform(bars.reshape(-1, 2)).reshape(-1, 4)
    taken = [Bbox.from_extents(*end).padded(BAR_RADIUS * scale) for end in ends]
    # The middle of a line is not its point, so points are kept clear of on their own.
    taken += [_around(centre, POINT_RADIUS * scale, POINT_RADIUS * scale) for centre in centres]
    frame = axis.get_window_extent(renderer)
    for centre, label, position in zip(centres, labels, zip(x, y, strict=True), strict=True):
        text = axis.text(0, 0, label, fontsize=FONT_SIZE)
        size = text.get_window_extent(renderer)
        text.remove()
        half = np.array([size.width, size.height]) / 2
        offsets = [_offset(half, distance * scale, angle) for distance in DISTANCES for angle in ANGLES]
        boxes = [_around(centre + offset, *half) for offset in offsets]
        best = int(np.argmin([_covered(box, taken) + _outside(box, frame) for box in boxes]))
        taken.append(boxes[best])
        line = {"arrowstyle": "-", "color": "#888888", "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3}
        annotation = axis.annotate(
            label,
            position,
            xytext=tuple(offsets[best] / scale),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=FONT_SIZE,
            arrowprops=line if best >= len(ANGLES) else None,
        )
        # The layout is final: it must not move for a label placed within it.
        annotation.set_in_layout(False)


def _around(centre: Point, half_width: float, half_height: float) -> Bbox:
    return Bbox.from_extents(
        centre[0] - half_width, centre[1] - half_height, centre[0] + half_width, centre[1] + half_height
    )


def _offset(half: Point, distance: float, angle: float) -> Point:
    """From the point to the centre of a label whose nearest edge is `distance` away in direction `angle` (degrees)."""
    direction = np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
    return direction * distance + half * np.round(direction, 6).clip(-0.5, 0.5) * 2


def _covered(box: Bbox, taken: list[Bbox]) -> float:
    """Area of `box` that lies on others, in square pixels."""
    overlaps = (Bbox.intersection(box, other) for other in taken)
    return sum(overlap.width * overlap.height for overlap in overlaps if overlap is not None)


def _outside(box: Bbox, frame: Bbox) -> float:
    """Area of `box` outside the axes, in square pixels."""
    inside = Bbox.intersection(box, frame)
    return float(box.width * box.height - (inside.width * inside.height if inside is not None else 0))
