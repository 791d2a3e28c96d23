"""Imitations of the services that researchers call, and the matrix of what is expected of them."""
