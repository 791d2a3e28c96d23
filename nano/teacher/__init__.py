"""The rule-based policy that nano imitates."""
