"""The notebooks, run headless against one server, and the page that collects their results."""
