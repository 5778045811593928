"""segcv: evaluation of image-segmentation models that can be trusted.

Files in this package are commands (`python -m segcv.train`), folders are libraries; the README shows both.
"""

__version__ = "0.1.0"
