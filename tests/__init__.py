"""What tests share is in `millpond.testing`: its assertions tell what they found, like those here."""

import pytest

pytest.register_assert_rewrite("millpond.testing")
