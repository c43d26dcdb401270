"""placeholder"""


def draw_sweep(folder):
    return [], []
