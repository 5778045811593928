"""Hydra's view of segcv's launchers; Hydra looks for launcher classes below `hydra_plugins` only."""
