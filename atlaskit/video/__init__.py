"""Video files: exact frames at times, and subtitle lines."""
