from small_network import network, schema, weights  # noqa: F401  (fixtures)
