"""Settings of processes that tests start: models compute with one thread.

Several wait for each other by turning, which is lost processor time where tests run side by side.
"""

ONE_THREAD = {"WELLREAD_EMBEDDING_THREADS": "1", "WELLREAD_READER_THREADS": "1"}
