"""An S3 server on this machine, for tests of object storage."""

import contextlib
import logging
import urllib.request


class Client:
    """A bucket `texts`, and the environment variables with which a process finds it."""

    def __init__(self, endpoint: str):
        import boto3

        self.environment = {
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
        self._s3 = boto3.client(
            "s3",
            endpoint_url=endpoint,
            aws_access_key_id="key",
            aws_secret_access_key="secret",
            region_name="us-east-1",
        )
        self._s3.create_bucket(Bucket="texts")

    def put(self, key: str, content: bytes) -> None:
        self._s3.put_object(Bucket="texts", Key=key, Body=content)


@contextlib.contextmanager
def served():
    """Starts the server; yields a client."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # a line per request
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        endpoint = "http://{}:{}".format(*server.get_host_and_port())
        # All servers of a process have the same buckets: those of another file of tests are removed.
        urllib.request.urlopen(urllib.request.Request(f"{endpoint}/moto-api/reset", method="POST")).close()
        yield Client(endpoint)
    finally:
        server.stop()
