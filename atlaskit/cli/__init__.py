"""The commands of atlaskit, one or two a module; `model` and `outputs` have what several share."""
