"""A lamp fits the bulb that its title names, whatever room the lamp is for."""

import pytest

from shopwright.pipeline.catalog.fits import fits_of


@pytest.mark.parametrize("lamp", ["desk lamp", "bedside lamp", "table lamp"])
def test_a_lamp_fits_the_bulb_of_its_title(lamp: str) -> None:
    assert ("bulb", "e26") in fits_of(f"Norrvik Delta oak {lamp} with E26 LED bulb, 12 in")
