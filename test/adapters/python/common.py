"""What every test here needs: the folder that users take, which PYTHONPATH leads to."""

import os

import service_host_link as link

FOLDER = os.path.dirname(link.__file__)
