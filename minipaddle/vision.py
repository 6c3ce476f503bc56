"""paddle.vision: image datasets and transforms, gathered from the two flat modules below.

Imports vision_datasets and vision_transforms.
"""
from __future__ import annotations

from . import vision_datasets as datasets  # noqa: F401
from . import vision_transforms as transforms  # noqa: F401
from .vision_datasets import (  # noqa: F401
    MNIST,
    Digits,
    FashionMNIST,
    get_image_backend,
    set_image_backend,
)
from .vision_transforms import *  # noqa: F403
