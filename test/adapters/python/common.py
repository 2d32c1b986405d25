"""What every test here needs: the file that users take, which PYTHONPATH leads to."""

import service_host_link as link

PATH = link.__file__
