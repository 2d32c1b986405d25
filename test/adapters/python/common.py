"""What every test here needs: the file under test, as an application would import it."""

import os
import sys

PATH = os.path.realpath(os.path.join(
    os.path.dirname(__file__), "..", "..", "..", "adapters", "python", "service_host_link.py"))
sys.path.insert(0, os.path.dirname(PATH))

import service_host_link as link  # noqa: E402,F401
